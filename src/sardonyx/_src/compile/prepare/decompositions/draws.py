"""Random operators with a seed and a known shape become constants, since every run draws the same numbers.

Dropout in inference, or with a ratio of 0, drops nothing and needs no numbers.  Operators without a seed draw from
the random stream of the session, which is NumPy's, so they stay fallback operations.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from sardonyx._src.compile.prepare.decompositions.text import inline_text
from sardonyx._src.dtypes import DataType
from sardonyx._src.interp.run_state import seeded_state
from sardonyx._src.ir import Array, Node, Tensor, Value
from sardonyx._src.rewrite.engine.edit import Edit
from sardonyx._src.rewrite.support.evaluate import evaluate_node

LIMITS = "without a seed, numbers are drawn from NumPy's stream"
MAX_ELEMENTS = 1 << 24  # of one constant of random numbers
MAX_NUMBER = 1 - 2.0**-50  # NumPy's binomial may reject a greater uniform number and draw another one
KEEP_ALL = """(x) => (y, mask) {
  shape = Shape(x)  y = Identity(x)  mask = ConstantOfShape <value = bool[1] {1}> (shape) }"""
BERNOULLI = """(x) => (y) {{
  drawn = RandomUniform <dtype = 11, seed = {seed!r}, shape = [{end}]> ()  half = Constant <value = double {{0.5}}> ()
  start = Constant <value = int64[1] {{{start}}}> ()  end = Constant <value = int64[1] {{{end}}}> ()  numbers = Slice(drawn, start, end)
  zero = Constant <value = double {{0}}> ()  one = Constant <value = double {{1}}> ()  all = Constant <value = int64[1] {{-1}}> ()
  no = Constant <value = int64 {{0}}> ()  step = Constant <value = int64 {{1}}> ()  count = Constant <value = int64 {{{start}}}> ()
  places = Range(no, count, step)  shape = Shape(x)  flat = Reshape(x, all)  chance = Cast <to = 11> (flat)
  is_not_negative = GreaterOrEqual(chance, zero)  is_at_most_one = LessOrEqual(chance, one)
  is_chance = And(is_not_negative, is_at_most_one)  checked = Where(is_chance, places, count)  number = Gather(numbers, checked)
  is_high = Greater(chance, half)  rest = Sub(one, chance)  bound = Max(rest, chance)
  is_rare = Greater(number, bound)  is_hit = Xor(is_rare, is_high)
  given = Cast <to = {to}> (is_hit)  y = Reshape <allowzero = 1> (given, shape) }}"""


def decompose(node: Node, edit: Edit) -> bool:
    if edit.operator_of(node) is None:
        return False
    if node.op_type == "Dropout":
        return decompose_dropout(node, edit)
    sizes = known_sizes(node.inputs[0], edit)
    if sizes is None or "seed" not in edit.attributes(node):
        return False
    return (
        decompose_bernoulli(node, edit) if node.op_type == "Bernoulli" else decompose_like(node, edit, sizes)
    )


def known_sizes(value: Value | None, edit: Edit) -> tuple[int, ...] | None:
    """The shape of a tensor that can be a constant; None if a size is not known, or there are too many elements."""
    shape = edit.shape(value)
    sizes = None if shape is None else tuple(dim for dim in shape if isinstance(dim, int))
    return sizes if sizes is not None and sizes == shape and math.prod(sizes) <= MAX_ELEMENTS else None


def evaluate(node: Node, edit: Edit, inputs: Sequence[Array | None]) -> Sequence[Array] | None:
    """The results of a node for the given inputs; None if the operator rejects them."""
    tensors = [None if array is None else Tensor.of(array) for array in inputs]
    results = evaluate_node(node, edit.imports_of(node), tensors)
    return None if results is None else [result for result in results if isinstance(result, np.ndarray)]


def decompose_like(node: Node, edit: Edit, sizes: tuple[int, ...]) -> bool:
    """RandomUniformLike and RandomNormalLike, which read only the shape and type of their input."""
    type_ = edit.type(node.inputs[0])
    assert type_ is not None, "a tensor with known sizes has a type"
    results = evaluate(node, edit, [np.zeros(sizes, type_.dtype.numpy)])
    return results is not None and edit.replace_with_constants(node, {node.outputs[0]: Tensor.of(results[0])})


# --- Dropout ---------------------------------------------------------------------------------


def decompose_dropout(node: Node, edit: Edit) -> bool:
    data, ratio, training = (node.inputs[i] if i < len(node.inputs) else None for i in range(3))
    is_training = known_scalar(training, edit, 0.0)
    share = known_scalar(ratio, edit, 0.5)
    if is_training == 0 or (is_training is not None and share == 0):
        inline_text(node, edit, KEEP_ALL if len(node.outputs) > 1 else KEEP_ALL.replace("(y, mask)", "(y)"))
        return True
    sizes, type_ = known_sizes(data, edit), edit.type(data)
    is_known = is_training is not None and share is not None and sizes is not None
    if not is_known or type_ is None or "seed" not in edit.attributes(node):
        return False
    return drop_known_elements(node, edit, sizes or (), type_.dtype, share or 0)


def known_scalar(value: Value | None, edit: Edit, default: float) -> float | None:
    """The number that a tensor of one element holds; None if it is not known."""
    if value is None:
        return default
    elements = edit.constant(value)
    return float(elements.reshape(())) if elements is not None and elements.size == 1 else None


def drop_known_elements(
    node: Node, edit: Edit, sizes: tuple[int, ...], dtype: DataType, share: float
) -> bool:
    """Dropout in training as a product with a constant, in float32 or float64 as the reference kernel computes it."""
    if (
        dtype not in (DataType.FLOAT, DataType.DOUBLE, DataType.FLOAT16, DataType.BFLOAT16)
        or not 0 <= share < 1
    ):
        return False
    seed = edit.attributes(node)["seed"]
    assert isinstance(seed, int), "the signature has a type"
    wide = DataType.DOUBLE if dtype is DataType.DOUBLE else DataType.FLOAT
    mask = seeded_state(seed).random_sample(sizes) >= share
    factors = mask * wide.numpy.type(1 / (1 - share))
    x, masks = node.inputs[0], node.outputs[1:]
    factor = edit.make_constant(factors, f"{node.name}/factors", before=node)
    if dtype is not wide:
        x = edit.make("Cast", [x], {"to": int(wide)}, before=node).outputs[0]
    product = edit.make("Mul", [x, factor], before=node).outputs[0]
    if dtype is not wide:
        product = edit.make("Cast", [product], {"to": int(dtype)}, before=node).outputs[0]
    results: list[Value | None] = [product]
    if masks:
        constant = edit.make_constant(np.asarray(mask), f"{node.name}/mask", before=node)
        results.append(edit.make("Identity", [constant], before=node).outputs[0])
    edit.transfer_outputs(node, results)
    return True


# --- Bernoulli -------------------------------------------------------------------------------


def decompose_bernoulli(node: Node, edit: Edit) -> bool:
    """Bernoulli as NumPy's binomial of one trial computes it: a uniform number for each probability p, compared with
    1 - min(p, 1 - p).

    For a probability outside of [0, 1], the Gather gets an index out of range, and reports a fault.
    """
    sizes, attributes, type_ = (
        known_sizes(node.inputs[0], edit),
        edit.attributes(node),
        edit.type(node.inputs[0]),
    )
    seed, result = attributes["seed"], edit.type(node.outputs[0])
    if sizes is None or type_ is None or result is None or not isinstance(seed, int | float):
        return False
    start = math.prod(sizes)
    drawn = seeded_state(seed).random_sample(2 * start)
    if type_.dtype not in (DataType.FLOAT, DataType.DOUBLE) or not start or drawn.max() > MAX_NUMBER:
        return False
    text = BERNOULLI.format(start=start, end=2 * start, seed=float(seed), to=int(result.dtype))
    inline_text(node, edit, text)
    return True
