"""What LSTM, GRU and RNN share: directions, lengths, layouts, and the walk from step to step over whole batches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.dims import Dim, dim_mul, exact_div
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.types import Shape, TensorType, Type
from sardonyx._src.ops.api import Call, Operator, claim
from sardonyx._src.ops.arithmetic import narrow, widen
from sardonyx._src.ops.change import Change, Converted
from sardonyx._src.ops.inference import Inference
from sardonyx._src.ops.nn.recurrent_activations import activation_functions, per_direction
from sardonyx._src.ops.shapes import merge_dims
from sardonyx._src.ops.widening import NARROW_FLOATS, widening

BACKWARD = {"forward": (False,), "reverse": (True,), "bidirectional": (False, True)}

# From the inputs of a step, multiplied by the weights already ([batch, gates * hidden]), and the states to the next
# states, all [batch, hidden]; the first state is the output.
Step = Callable[[Array, "States"], "States"]
States = tuple[Array, ...]
Results = tuple[Array, ...]


@dataclass(frozen=True, slots=True)
class Layer:
    """One call: time first in everything, narrow floats widened, all shapes checked.

    x: [length, batch, input]; lengths: [batch]; W: [directions, gates * hidden, input];
    R: [directions, gates * hidden, hidden]; B: [directions, 2 * gates * hidden].
    """

    x: Array
    lengths: Array
    W: Array
    R: Array
    B: Array
    backward: tuple[bool, ...]
    batch_first: bool
    dtype: np.dtype[np.generic]  # of the results

    @property
    def hidden(self) -> int:
        return self.R.shape[2]

    def states(self, initial: Array | None, what: str) -> Array:
        """initial_h or initial_c as [directions, batch, hidden]; zeros where it is left out."""
        shape = (len(self.backward), self.x.shape[1], self.hidden)
        if initial is None:
            return np.zeros(shape, self.x.dtype)
        found = widen(initial)
        found = found.swapaxes(0, 1) if self.batch_first and found.ndim == 3 else found
        return fitting(found, shape, what)

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

    def run(self, steps: Sequence[Step], bias: Array, *initial: Array) -> Results:
        """Y and the final states, in the layout and of the type that the caller wants; one step for each direction.

        bias: [directions, gates * hidden], added to the inputs' part; initial: [directions, batch, hidden] each.
        """
        outs: list[Array] = []
        finals: list[States] = []
        for d, (step, backward) in enumerate(zip(steps, self.backward, strict=True)):
            given = self.x @ self.W[d].T + bias[d]
            out, final = follow(step, given, tuple(s[d] for s in initial), self.lengths, backward)
            outs.append(out)
            finals.append(final)
        Y = np.stack(outs, 1)
        last = [np.stack(column) for column in zip(*finals, strict=True)]
        if self.batch_first:
            Y, last = Y.transpose(2, 0, 1, 3), [s.swapaxes(0, 1) for s in last]
        return tuple(narrow(a, self.dtype) for a in (Y, *last))


def layer(
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
    call: Call,
) -> Layer:
    """Raises EvaluationError for shapes, lengths or attributes that do not fit together, LimitError for large results."""
    if direction not in BACKWARD:
        raise EvaluationError(f"direction is {direction!r}; forward, reverse or bidirectional is wanted")
    if layout not in (0, 1):
        raise EvaluationError(f"layout is {layout}; 0 or 1 is wanted")
    if X.ndim != 3 or R.ndim != 3:
        raise EvaluationError(f"X has {X.ndim} axes and R {R.ndim}; 3 are wanted of each")
    x = widen(X.swapaxes(0, 1) if layout else X)
    directions, hidden = len(BACKWARD[direction]), R.shape[2] if hidden_size is None else hidden_size
    rows = gates * hidden
    fitting(W, (directions, rows, x.shape[2]), "W")
    fitting(R, (directions, rows, hidden), "R")
    claim(call, (*x.shape[:2], rows), x.dtype, "inputs of the gates")
    bias = np.zeros((directions, 2 * rows), x.dtype) if B is None else widen(B)
    return Layer(
        x=x,
        lengths=checked_lengths(sequence_lens, *x.shape[:2]),
        W=widen(W),
        R=widen(R),
        B=fitting(bias, (directions, 2 * rows), "B"),
        backward=BACKWARD[direction],
        batch_first=bool(layout),
        dtype=X.dtype,
    )


def fitting(x: Array, shape: tuple[int, ...], what: str) -> Array:
    if x.shape != shape:
        raise EvaluationError(f"{what} is of shape {list(x.shape)}; {list(shape)} is wanted")
    return x


def checked_lengths(sequence_lens: Array | None, longest: int, batch: int) -> Array:
    if sequence_lens is None:
        return np.full(batch, longest, np.int64)
    lengths = fitting(sequence_lens.astype(np.int64), (batch,), "sequence_lens")
    if np.any((lengths < 0) | (lengths > longest)):
        raise EvaluationError(f"sequence_lens is {lengths.tolist()}; lengths from 0 to {longest} are wanted")
    return lengths


def follow(step: Step, given: Array, states: States, lengths: Array, backward: bool) -> tuple[Array, States]:
    """All outputs [length, batch, hidden] and the states behind each sequence's last step.

    given: [length, batch, gates * hidden].  A sequence shorter than the others keeps its states after its end, and
    its outputs there are zero; backwards it begins at its own end.
    """
    time = np.arange(len(given))[:, None]
    alive = time < lengths
    order = np.where(alive & backward, lengths - 1 - time, time), np.arange(len(lengths))  # its own inverse
    given = given[order]
    outs = np.zeros((*alive.shape, states[0].shape[1]), given.dtype)
    for t in range(len(given)):
        moves = alive[t][:, None]
        states = tuple(
            np.where(moves, new, old) for new, old in zip(step(given[t], states), states, strict=True)
        )
        outs[t] = np.where(moves, states[0], 0)
    return outs[order], states


# --- conversions -----------------------------------------------------------------------------


def convert_recurrent(op: Operator, oldest: int) -> None:
    """Registers the steps that the three operators have in common; `oldest` is the version before 7."""
    op.convert((oldest, 7))(lambda c: c.same(drop=("output_sequence",)))
    op.convert((7, oldest))(lambda c: c.same(output_sequence=int(c.wants(0))))
    op.convert((7, 14), (14, 22))(lambda c: c.same())
    op.convert((14, 7))(time_first)
    op.convert((22, 14))(widening(NARROW_FLOATS))


def time_first(c: Change) -> Converted:
    """From version 14 to 7, which has no layout but that of version 14's layout 0."""
    if not c.t.integer("layout"):
        return c.same(drop=("layout",))
    inputs = list(c.node.inputs)
    for i in (0, 5, 6):
        if (value := c.optional(i)) is not None:
            inputs[i] = c.Transpose(value, perm=[1, 0, 2])
    kept = c.same(inputs, drop=("layout",))
    Y, *last = c.add(c.node.op_type, kept.inputs, dict(kept.attributes), len(c.node.outputs))
    return [c.Transpose(Y, perm=[2, 0, 1, 3]), *(c.Transpose(state, perm=[1, 0, 2]) for state in last)]


# --- inference -------------------------------------------------------------------------------


def infer_recurrent(t: Inference, gates: int, functions: Sequence[str]) -> list[Type | None]:
    """Y: [length, directions, batch, hidden] and the final states: [directions, batch, hidden], or batch first.

    functions: the activations of one direction where the node names none.
    """
    x = t.tensor(0)
    if x is None:
        return [None] * t.outputs
    if t.integer("layout", 0) not in (0, 1):
        t.fail(f"layout is {t.integer('layout')}; 0 or 1 is wanted")
    batch_first = t.integer("layout", 0) == 1
    direction = t.attributes.get("direction")
    if t.version == 1 and direction == "foward":  # the default of GRU-1, misspelt in the specification
        direction = "forward"
    if direction not in BACKWARD:
        t.fail(f"direction is {direction!r}; forward, reverse or bidirectional is wanted")
    directions = len(BACKWARD[direction])
    check_activations(t, functions, directions)
    merge_dims(t, [directions, *(dims_of(t, i, n)[0] for i, n in ((1, 3), (2, 3), (3, 2)))], "the directions")
    length, batch, features = dims_of(t, 0, 3)
    merge_dims(t, [features, dims_of(t, 1, 3)[2]], "the input sizes of X and W")
    if batch_first:
        length, batch = batch, length
    starts = [dims_of(t, i, 3) for i in (5, 6)]
    batch = merge_dims(
        t, [batch, dims_of(t, 4, 1)[0], *(s[0 if batch_first else 1] for s in starts)], "the batch sizes"
    )
    check_sequence_lens(t, length)
    rows = merge_dims(t, [dims_of(t, 1, 3)[1], dims_of(t, 2, 3)[1]], "the numbers of rows of W and R")
    if isinstance(rows, int) and rows % gates:
        t.fail(f"W and R have {rows} rows, which is no multiple of {gates}")
    merge_dims(t, [dim_mul(rows, 2), dims_of(t, 3, 2)[1]], "twice the rows of W and the biases")
    size = t.attributes.get("hidden_size")
    sizes = [size if isinstance(size, int) else None, dims_of(t, 2, 3)[2], exact_div(rows, gates)]
    hidden = merge_dims(t, [*sizes, *(s[2] for s in starts)], "the hidden sizes")
    Y: Shape = (batch, length, directions, hidden) if batch_first else (length, directions, batch, hidden)
    last: Shape = (batch, directions, hidden) if batch_first else (directions, batch, hidden)
    return [TensorType(x.dtype, Y if i == 0 else last) for i in range(t.outputs)]


def check_sequence_lens(t: Inference, length: Dim) -> None:
    lengths = t.constant(4)
    if lengths is not None and isinstance(length, int) and ((lengths < 0) | (lengths > length)).any():
        t.fail(f"sequence_lens is {lengths.tolist()}; lengths from 0 to {length} are wanted")


def check_activations(t: Inference, functions: Sequence[str], directions: int) -> None:
    """Raises InferenceError for activations, their scales and a clip that cannot be."""
    a = t.attributes
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
        t.fail(error.why)


def dims_of(t: Inference, i: int, rank: int) -> tuple[Dim, ...]:
    """The dims of input i, which has to be of that rank; None for each where nothing is known."""
    shape = t.shape(i)
    if shape is None:
        return (None,) * rank
    if len(shape) != rank:
        t.fail(f"input {i} has {len(shape)} axes; {rank} are wanted")
    return shape
