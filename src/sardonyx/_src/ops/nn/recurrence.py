"""Shared by LSTM, GRU and RNN: directions, sequence lengths, layouts, batched time stepping, inference, conversion."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from sardonyx._src.dataclass import dataclass
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array, Shape, TensorType, Type
from sardonyx._src.ir.dims import Dim, dim_mul, exact_div
from sardonyx._src.ops.api import Operator, RunContext, check_result_bytes
from sardonyx._src.ops.inference import Inference
from sardonyx._src.ops.nn.recurrent_activations import activation_functions, per_direction
from sardonyx._src.ops.support.arithmetic import promote_to_float32, round_to_type
from sardonyx._src.ops.support.promotion import NARROW_FLOATS, promote_input
from sardonyx._src.ops.support.shapes import merge_dims
from sardonyx._src.ops.version_adapter import AdaptedNode, Adapter, keep

BACKWARD = {"forward": (False,), "reverse": (True,), "bidirectional": (False, True)}

# One step of a cell.  Arguments: the inputs of the step after multiplication by W, [batch, gates * hidden], and the
# states before the step, [batch, hidden] each.  Result: the states after it, of which the first is the output.
CellStep = Callable[[Array, "States"], "States"]
States = tuple[Array, ...]
Results = tuple[Array, ...]


@dataclass(frozen=True, slots=True)
class RecurrentLayer:
    """The operands of one call: time-major, half precision promoted to float32, all shapes checked.

    x: [length, batch, input]; lengths: [batch]; W: [directions, gates * hidden, input];
    R: [directions, gates * hidden, hidden]; B: [directions, 2 * gates * hidden].
    backward: for each direction, whether it reads time backward.
    batch_first: whether operands and results of the call have the batch as their first axis (`layout` 1).
    """

    x: Array
    lengths: Array
    W: Array
    R: Array
    B: Array
    backward: tuple[bool, ...]
    batch_first: bool
    dtype: np.dtype[np.generic]  # the element type of the results

    @property
    def hidden(self) -> int:
        return self.R.shape[2]

    def states(self, initial: Array | None, what: str) -> Array:
        """initial_h or initial_c as [directions, batch, hidden]; zeros where it is omitted."""
        shape = (len(self.backward), self.x.shape[1], self.hidden)
        if initial is None:
            return np.zeros(shape, self.x.dtype)
        states = promote_to_float32(initial)
        states = states.swapaxes(0, 1) if self.batch_first and states.ndim == 3 else states
        return check_shape(states, shape, what)

    @property
    def bias(self) -> Array:
        """Wb + Rb: [directions, gates * hidden]."""
        Wb, Rb = self.biases
        return Wb + Rb

    @property
    def biases(self) -> tuple[Array, Array]:
        """Wb and Rb: [directions, gates * hidden] each."""
        half = self.B.shape[1] // 2
        return self.B[:, :half], self.B[:, half:]

    def run(self, steps: Sequence[CellStep], bias: Array, *initial: Array) -> Results:
        """Y and the final states, in the layout and type of the call; `steps` has one step for each direction.

        bias: [directions, gates * hidden], added to the input projections; initial: [directions, batch, hidden] each.
        """
        outs: list[Array] = []
        finals: list[States] = []
        for d, (step, backward) in enumerate(zip(steps, self.backward, strict=True)):
            projected = self.x @ self.W[d].T + bias[d]
            out, final = run_sequence(step, projected, tuple(s[d] for s in initial), self.lengths, backward)
            outs.append(out)
            finals.append(final)
        Y = np.stack(outs, 1)
        last = [np.stack(column) for column in zip(*finals, strict=True)]
        if self.batch_first:
            Y, last = Y.transpose(2, 0, 1, 3), [s.swapaxes(0, 1) for s in last]
        return tuple(round_to_type(a, self.dtype) for a in (Y, *last))


def prepare_layer(
    X: Array,
    W: Array,
    R: Array,
    B: Array | None,
    sequence_lens: Array | None,
    *,
    gates: int,
    direction: str,
    layout: int = 0,
    hidden_size: int | None = None,
    context: RunContext,
) -> RecurrentLayer:
    """The checked operands; raises EvaluationError for inconsistent ones, LimitError for large results."""
    if direction not in BACKWARD:
        raise EvaluationError(f"direction must be forward, reverse or bidirectional; got {direction!r}")
    if layout not in (0, 1):
        raise EvaluationError(f"layout must be 0 or 1; got {layout}")
    if X.ndim != 3 or R.ndim != 3:
        raise EvaluationError(f"X and R must have rank 3; got {X.ndim} and {R.ndim}")
    x = promote_to_float32(X.swapaxes(0, 1) if layout else X)
    directions, hidden = len(BACKWARD[direction]), R.shape[2] if hidden_size is None else hidden_size
    rows = gates * hidden
    check_shape(W, (directions, rows, x.shape[2]), "W")
    check_shape(R, (directions, rows, hidden), "R")
    check_result_bytes(context, (*x.shape[:2], rows), x.dtype, "gate inputs")
    bias = np.zeros((directions, 2 * rows), x.dtype) if B is None else promote_to_float32(B)
    return RecurrentLayer(
        x=x,
        lengths=validate_lengths(sequence_lens, *x.shape[:2]),
        W=promote_to_float32(W),
        R=promote_to_float32(R),
        B=check_shape(bias, (directions, 2 * rows), "B"),
        backward=BACKWARD[direction],
        batch_first=bool(layout),
        dtype=X.dtype,
    )


def check_shape(x: Array, shape: tuple[int, ...], what: str) -> Array:
    if x.shape != shape:
        raise EvaluationError(f"{what} must have shape {list(shape)}; got {list(x.shape)}")
    return x


def validate_lengths(sequence_lens: Array | None, longest: int, batch: int) -> Array:
    if sequence_lens is None:
        return np.full(batch, longest, np.int64)
    lengths = check_shape(sequence_lens.astype(np.int64), (batch,), "sequence_lens")
    if np.any((lengths < 0) | (lengths > longest)):
        raise EvaluationError(f"sequence_lens must lie in [0, {longest}]; got {lengths.tolist()}")
    return lengths


def run_sequence(
    step: CellStep, projected: Array, states: States, lengths: Array, backward: bool
) -> tuple[Array, States]:
    """All outputs [length, batch, hidden] and the states after each sequence's last step.

    projected: [length, batch, gates * hidden].  A sequence shorter than `length` keeps its states after its end and
    outputs zeros there; a backward pass starts at each sequence's own end.
    """
    time = np.arange(len(projected))[:, None]
    in_sequence = time < lengths
    order = (
        np.where(in_sequence & backward, lengths - 1 - time, time),
        np.arange(len(lengths)),
    )  # reverses each sequence in a backward pass; applied twice, it restores the order
    projected = projected[order]
    outs = np.zeros((*in_sequence.shape, states[0].shape[1]), projected.dtype)
    for t in range(len(projected)):
        is_active = in_sequence[t][:, None]
        states = tuple(
            np.where(is_active, new, old) for new, old in zip(step(projected[t], states), states, strict=True)
        )
        outs[t] = np.where(is_active, states[0], 0)
    return outs[order], states


# --- conversions -----------------------------------------------------------------------------


def register_recurrent_adapters(op: Operator, oldest: int) -> None:
    """Registers the version adapters common to the three operators; `oldest` is the version before 7."""
    op.convert((oldest, 7))(lambda adapter: adapter.same(drop=("output_sequence",)))
    op.convert((7, oldest))(lambda adapter: adapter.same(output_sequence=int(adapter.has_output(0))))
    op.convert((7, 14), (14, 22))(keep)
    op.convert((14, 7))(convert_to_time_first)
    op.convert((22, 14))(promote_input(NARROW_FLOATS))


def convert_to_time_first(adapter: Adapter) -> AdaptedNode:
    """Downgrade from version 14 to 7, which supports only layout 0: transpose inputs and outputs of layout 1."""
    if not adapter.inference.integer("layout"):
        return adapter.same(drop=("layout",))
    inputs = list(adapter.node.inputs)
    for i in (0, 5, 6):
        if (value := adapter.optional(i)) is not None:
            inputs[i] = adapter.Transpose(value, perm=[1, 0, 2])
    replacement = adapter.same(inputs, drop=("layout",))
    Y, *last = adapter.add(
        adapter.node.op_type, replacement.inputs, dict(replacement.attributes), len(adapter.node.outputs)
    )
    return [
        adapter.Transpose(Y, perm=[2, 0, 1, 3]),
        *(adapter.Transpose(state, perm=[1, 0, 2]) for state in last),
    ]


# --- inference -------------------------------------------------------------------------------


def infer_recurrent(inference: Inference, gates: int, functions: Sequence[str]) -> list[Type | None]:
    """Y: [length, directions, batch, hidden] and the final states: [directions, batch, hidden], or batch first.

    functions: the default activations of one direction.
    """
    x = inference.tensor(0)
    if x is None:
        return [None] * inference.outputs
    if inference.integer("layout", 0) not in (0, 1):
        inference.fail(f"layout must be 0 or 1; got {inference.integer('layout')}")
    batch_first = inference.integer("layout", 0) == 1
    direction = inference.attributes.get("direction")
    if (
        inference.version == 1 and direction == "foward"
    ):  # the default of GRU-1, misspelled in the specification
        direction = "forward"
    if direction not in BACKWARD:
        inference.fail(f"direction must be forward, reverse or bidirectional; got {direction!r}")
    directions = len(BACKWARD[direction])
    check_activations(inference, functions, directions)
    merge_dims(
        inference,
        [directions, *(dims_of(inference, i, n)[0] for i, n in ((1, 3), (2, 3), (3, 2)))],
        "the directions",
    )
    length, batch, features = dims_of(inference, 0, 3)
    merge_dims(inference, [features, dims_of(inference, 1, 3)[2]], "the input sizes of X and W")
    if batch_first:
        length, batch = batch, length
    starts = [dims_of(inference, i, 3) for i in (5, 6)]
    batch = merge_dims(
        inference,
        [batch, dims_of(inference, 4, 1)[0], *(s[0 if batch_first else 1] for s in starts)],
        "the batch sizes",
    )
    check_sequence_lens(inference, length)
    rows = merge_dims(
        inference,
        [dims_of(inference, 1, 3)[1], dims_of(inference, 2, 3)[1]],
        "the numbers of rows of W and R",
    )
    if isinstance(rows, int) and rows % gates:
        inference.fail(f"W and R must have a multiple of {gates} rows; got {rows}")
    merge_dims(
        inference, [dim_mul(rows, 2), dims_of(inference, 3, 2)[1]], "twice the rows of W and the biases"
    )
    size = inference.attributes.get("hidden_size")
    sizes = [size if isinstance(size, int) else None, dims_of(inference, 2, 3)[2], exact_div(rows, gates)]
    hidden = merge_dims(inference, [*sizes, *(s[2] for s in starts)], "the hidden sizes")
    Y: Shape = (batch, length, directions, hidden) if batch_first else (length, directions, batch, hidden)
    last: Shape = (batch, directions, hidden) if batch_first else (directions, batch, hidden)
    return [TensorType(x.dtype, Y if i == 0 else last) for i in range(inference.outputs)]


def check_sequence_lens(inference: Inference, length: Dim) -> None:
    lengths = inference.constant(4)
    if lengths is not None and isinstance(length, int) and ((lengths < 0) | (lengths > length)).any():
        inference.fail(f"sequence_lens must lie in [0, {length}]; got {lengths.tolist()}")


def check_activations(inference: Inference, functions: Sequence[str], directions: int) -> None:
    """Raises InferenceError for invalid activations, activation scales or clip."""
    a = inference.attributes
    names, alpha, beta, clip = (
        a.get(name) for name in ("activations", "activation_alpha", "activation_beta", "clip")
    )
    try:
        chosen = per_direction(names if isinstance(names, tuple) else None, functions, directions)
        activation_functions(
            chosen,
            alpha if isinstance(alpha, tuple) else (),
            beta if isinstance(beta, tuple) else (),
            clip if isinstance(clip, float) else None,
        )
    except EvaluationError as error:
        inference.fail(error.why)


def dims_of(inference: Inference, i: int, rank: int) -> tuple[Dim, ...]:
    """The dims of input i, None for unknown ones; raises InferenceError for another rank."""
    shape = inference.shape(i)
    if shape is None:
        return (None,) * rank
    if len(shape) != rank:
        inference.fail(f"input {i} must have rank {rank}; got rank {len(shape)}")
    return shape
