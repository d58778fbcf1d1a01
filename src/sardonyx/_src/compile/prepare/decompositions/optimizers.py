"""Adagrad, Adam and Momentum as elementwise operators; one kernel updates each tensor.

The replacement is a function whose inputs are r, the learning rate, t, the step number, and for each tensor i: x, the
parameter, g, its gradient, and the states v and, for Adam, h.  Learning rates are computed in float64, as in the
reference kernels, and rounded to each tensor's type.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sardonyx._src.compile.prepare.decompositions.text import inline_text
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Node
from sardonyx._src.ops.support.body_text import scalar, vector
from sardonyx._src.rewrite.engine.edit import Edit

STEP_BITS = 63  # the bits of a positive int64 step number
NUM_STATES = {"Adagrad": 1, "Adam": 2, "Momentum": 1}
FLOATS = (DataType.FLOAT, DataType.DOUBLE)
Numbers = dict[str, float]


def decompose(node: Node, edit: Edit) -> bool:
    """Replaces an update of float or double tensors of known ranks; returns whether it did."""
    types = [edit.type(value) for value in node.inputs]
    kinds = 2 + NUM_STATES[node.op_type]
    count = (len(types) - 2) // kinds
    if edit.operator_of(node) is None or count * kinds + 2 != len(types) or not count:
        return False
    if any(type is None or type.shape is None for type in types):
        return False
    dtypes = [type.dtype for type in types[2 : 2 + count] if type is not None]
    attributes = edit.attributes(node)
    numbers = {name: float(value) for name, value in attributes.items() if isinstance(value, int | float)}
    if not set(dtypes) <= set(FLOATS) or not has_converging_means(node.op_type, numbers):
        return False
    is_nesterov = attributes.get("mode") == "nesterov"
    if attributes.get("mode", "standard") != "standard" and not is_nesterov:
        return False
    inline_text(node, edit, function_text(node.op_type, dtypes, numbers, is_nesterov=is_nesterov))
    return True


def has_converging_means(op_type: str, numbers: Numbers) -> bool:
    """Whether the decay factors of Adam are in [0, 1): otherwise the corrected rate may be NaN or infinite."""
    return op_type != "Adam" or all(0 <= numbers[name] < 1 for name in ("alpha", "beta"))


def function_text(op_type: str, dtypes: Sequence[DataType], numbers: Numbers, *, is_nesterov: bool) -> str:
    """The function that updates all tensors.

    dtypes: the element type of each tensor.  numbers: the numeric attributes of the node.
    The rate and the step number may be [] or [1].
    """
    kinds, indices = 2 + NUM_STATES[op_type], range(len(dtypes))
    inputs = [f"{kind}{i}" for kind in "xgvh"[:kinds] for i in indices]
    results = [f"new_{kind}{i}" for kind in "xvh"[: kinds - 1] for i in indices]
    lines = [
        f"scalar = {vector([])}",
        f"given_rate = Reshape(r, scalar)  wide_rate = Cast <to = {int(DataType.DOUBLE)}> (given_rate)",
        "steps = Reshape(t, scalar)  no_step = Constant <value = int64 {0}> ()  is_later = Greater(steps, no_step)",
        *{"Adagrad": adagrad_rate, "Adam": adam_rate, "Momentum": momentum_rate}[op_type](numbers),
    ]
    for i, dtype in enumerate(dtypes):
        lines += regularized_text(i, dtype, numbers)
        if op_type == "Momentum":
            lines += momentum_text(i, dtype, numbers, is_nesterov=is_nesterov)
        else:
            lines += (adagrad_text if op_type == "Adagrad" else adam_text)(i, dtype, numbers)
    newline = "\n  "
    return f"(r, t, {', '.join(inputs)}) => ({', '.join(results)}) {{\n  {newline.join(lines)} }}"


def wide(value: float) -> str:
    return scalar(value, DataType.DOUBLE)


def regularized_text(i: int, dtype: DataType, numbers: Numbers) -> Iterator[str]:
    """The rate in the type of tensor i, and `regular`: its gradient plus the gradient of the L2 regularization."""
    yield f"rate{i} = Cast <to = {int(dtype)}> (rate)  norm{i} = {scalar(numbers['norm_coefficient'], dtype)}"
    yield f"decay{i} = Mul(norm{i}, x{i})  regular{i} = Add(decay{i}, g{i})"


# --- Adagrad ---------------------------------------------------------------------------------


def adagrad_rate(numbers: Numbers) -> Iterator[str]:
    yield f"one = {wide(1)}  factor = {wide(numbers['decay_factor'])}"
    yield f"count = Cast <to = {int(DataType.DOUBLE)}> (steps)  decayed = Mul(count, factor)  divisor = Add(one, decayed)"
    yield "rate = Div(wide_rate, divisor)"


def adagrad_text(i: int, dtype: DataType, numbers: Numbers) -> Iterator[str]:
    yield f"square{i} = Mul(regular{i}, regular{i})  new_v{i} = Add(v{i}, square{i})"
    yield from step_text(i, dtype, numbers, direction=f"regular{i}", squares=f"new_v{i}", result=f"new_x{i}")


def step_text(
    i: int, dtype: DataType, numbers: Numbers, *, direction: str, squares: str, result: str
) -> Iterator[str]:
    """Computes x - rate * direction / (sqrt(squares) + epsilon)."""
    yield f"epsilon{i} = {scalar(numbers['epsilon'], dtype)}  root{i} = Sqrt({squares})"
    yield f"scale{i} = Add(root{i}, epsilon{i})  rated{i} = Mul(rate{i}, {direction})  step{i} = Div(rated{i}, scale{i})"
    yield f"{result} = Sub(x{i}, step{i})"


# --- Adam ------------------------------------------------------------------------------------


def adam_rate(numbers: Numbers) -> Iterator[str]:
    """The rate, corrected for means that start at zero.

    A power of a factor is the product of its repeated squares that the bits of `steps` select.
    """
    yield f"no = {vector([0])}  bits = {vector([1 << i for i in range(STEP_BITS)])}  one = {wide(1)}"
    yield "chosen_bits = BitwiseAnd(steps, bits)  is_factor = Greater(chosen_bits, no)"
    for name in ("alpha", "beta"):
        powers = [numbers[name]]
        while len(powers) < STEP_BITS:
            powers.append(powers[-1] * powers[-1])
        elements = ", ".join(map(repr, powers))
        yield f"{name}_powers = Constant <value = double[{STEP_BITS}] {{{elements}}}> ()"
        yield f"{name}_factors = Where(is_factor, {name}_powers, one)"
        yield f"{name}_power = ReduceProd <keepdims = 0> ({name}_factors)  {name}_rest = Sub(one, {name}_power)"
    yield "beta_root = Sqrt(beta_rest)  correction = Div(beta_root, alpha_rest)  corrected = Mul(wide_rate, correction)"
    yield "rate = Where(is_later, corrected, wide_rate)"


def adam_text(i: int, dtype: DataType, numbers: Numbers) -> Iterator[str]:
    alpha, beta = numbers["alpha"], numbers["beta"]
    for name, value in (("alpha", alpha), ("beta", beta), ("to_mean", 1 - alpha), ("to_square", 1 - beta)):
        yield f"{name}{i} = {scalar(value, dtype)}"
    yield f"kept_v{i} = Mul(alpha{i}, v{i})  added_v{i} = Mul(to_mean{i}, regular{i})  new_v{i} = Add(kept_v{i}, added_v{i})"
    yield f"part{i} = Mul(to_square{i}, regular{i})  added_h{i} = Mul(part{i}, regular{i})  kept_h{i} = Mul(beta{i}, h{i})"
    yield f"new_h{i} = Add(kept_h{i}, added_h{i})"
    yield from step_text(i, dtype, numbers, direction=f"new_v{i}", squares=f"new_h{i}", result=f"stepped{i}")
    yield f"rest{i} = {scalar(1 - numbers['norm_coefficient_post'], dtype)}  new_x{i} = Mul(rest{i}, stepped{i})"


# --- Momentum --------------------------------------------------------------------------------


def momentum_rate(numbers: Numbers) -> Iterator[str]:
    yield "rate = Identity(wide_rate)"
    yield f"later_share = {wide(numbers['beta'])}  first_share = {wide(1)}"
    yield "share = Where(is_later, later_share, first_share)"


def momentum_text(i: int, dtype: DataType, numbers: Numbers, *, is_nesterov: bool) -> Iterator[str]:
    yield f"alpha{i} = {scalar(numbers['alpha'], dtype)}  share{i} = Cast <to = {int(dtype)}> (share)"
    yield f"kept{i} = Mul(alpha{i}, v{i})  added{i} = Mul(share{i}, regular{i})  new_v{i} = Add(kept{i}, added{i})"
    if is_nesterov:
        yield f"ahead{i} = Mul(alpha{i}, new_v{i})  way{i} = Add(regular{i}, ahead{i})"
    yield f"step{i} = Mul(rate{i}, {f'way{i}' if is_nesterov else f'new_v{i}'})  new_x{i} = Sub(x{i}, step{i})"
