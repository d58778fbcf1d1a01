"""Random elementwise nodes for `random_graphs`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from compile.random_data_movement import GenerateNode
from compile.random_graphs import B, F, RandomGraphBuilder, RandomValue
from sardonyx._src.compile.kernels.elementwise.operators import SCALAR_OPERATORS
from sardonyx._src.dtypes import DataType
from sardonyx._src.ops.registry import find
from sardonyx._src.schema import OpSchema, latest, lookup

PARTIAL = {"Log"}  # NaN for half of all numbers
INTEGRAL = ("Floor", "Ceil", "Round")
COMPARISONS = ("Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Equal")


def unary_operators(tolerance: str) -> Iterator[str]:
    """The operators from one float tensor to another that kernels implement."""
    for name, native in SCALAR_OPERATORS.items():
        op, schema = find("", name), latest_schema(name)
        if (
            DataType.FLOAT not in native.types
            or schema.max_inputs != 1
            or op is None
            or op.casts
            or op.moves_data
        ):
            continue
        if schema.outputs[0].type == schema.inputs[0].type and op.tolerance == tolerance:
            yield name


def latest_schema(name: str) -> OpSchema:
    schema = lookup("", name, latest(""))
    assert schema is not None, f"there is no operator {name}"
    return schema


ROUNDED = tuple(name for name in unary_operators("rounding") if name not in PARTIAL)
EXACT_UNARY = tuple(name for name in unary_operators("exact") if name not in INTEGRAL)


def has_signed_zeros(result: RandomValue) -> bool:
    """Whether a value has zeros whose signs an engine may choose, as in Max(0.0, -0.0)."""
    return result.value.producer is not None and any(bool((a == 0).any()) for a in result.arrays)


def is_rounded_near_zero(result: RandomValue) -> bool:
    """Whether a value is rounded and so small that its error dominates quotients by it."""
    return not result.is_exact and any(bool((np.abs(a) < 0.1).any()) for a in result.precise)


def add_unary(g: RandomGraphBuilder) -> object:
    if g.flip(0.4):
        x, op_type = g.pick_value(), g.choose_name(*EXACT_UNARY)
        if x is None or (op_type == "Reciprocal" and (has_signed_zeros(x) or is_rounded_near_zero(x))):
            return None
        return g.add_node(op_type, x, exact=True)
    if g.flip(0.2):
        x = g.pick_value(lambda m: m.is_exact)
        return x and g.add_node(g.choose_name(*INTEGRAL), x, exact=True)
    x = g.pick_value()
    return x and g.add_node(g.choose_name(*ROUNDED), x)


def add_clip(g: RandomGraphBuilder) -> object:
    x = g.pick_value()
    bounds = [g.add_constant(-0.5) if g.flip() else None, g.add_constant(0.75)]
    return x and g.add_node("Clip", x, *bounds, exact=True)


def partner(g: RandomGraphBuilder, x: RandomValue) -> RandomValue:
    """A value or a constant that probably broadcasts with x."""
    if g.flip(0.5):
        other = g.pick_value(
            lambda m: all(broadcasts(a.shape, b.shape) for a, b in zip(m.arrays, x.arrays, strict=True))
        )
        if other is not None:
            return other
    dims = [d if f and g.flip() else 1 for f, d in zip(x.fixed, x.shape, strict=True)]
    lead = g.draw_int(x.rank)
    return g.add_constant(g.draw_normal(dims[lead:]))


def broadcasts(a: Sequence[int], b: Sequence[int]) -> bool:
    pairs = zip(reversed(a), reversed(b), strict=False)
    return all(m == n or m == 1 or n == 1 for m, n in pairs)


def can_keep_order(g: RandomGraphBuilder, *operands: RandomValue) -> bool:
    """Whether sums and products of these values are rounded one by one: the constants of several are merged."""
    return all(x in g.values and not x.is_constant for x in operands)


def add_binary(g: RandomGraphBuilder) -> object:
    x = g.pick_value()
    if x is None:
        return None
    y = partner(g, x)
    operands = [x, y] if g.flip() else [y, x]
    if g.flip(0.2):
        return g.add_node(g.choose_name("Max", "Min"), *operands, exact=True)
    exact = can_keep_order(g, x, y)
    op_type = g.choose_name("Add", "Add", "Mul", "Sub", "Div", "PRelu")
    if op_type == "Div" and (has_signed_zeros(operands[1]) or is_rounded_near_zero(operands[1])):
        return None
    return g.add_node(op_type, *operands, exact=exact)


def add_residual(g: RandomGraphBuilder) -> object:
    x = g.pick_value(lambda m: m.rank > 1)
    y = x and g.pick_value(
        lambda m: m is not x and [a.shape for a in m.arrays] == [a.shape for a in x.arrays]
    )
    return x and y and g.add_node("Add", y, x, exact=can_keep_order(g, x, y))


def add_variadic(g: RandomGraphBuilder) -> object:
    x = g.pick_value()
    if x is None:
        return None
    return g.add_node(g.choose_name("Sum", "Max", "Min", "Mean"), x, partner(g, x), partner(g, x))


def add_selection(g: RandomGraphBuilder) -> object:
    """A comparison, and a Where with it as the condition."""
    x = g.pick_value(lambda m: m.is_exact)
    if x is None:
        return None
    y = partner(g, x)
    condition = y.is_exact and g.add_node(g.choose_name(*COMPARISONS), x, y, exact=True)
    if not condition:
        return None
    if g.flip(0.3):
        condition = g.add_node("Not", condition[0], exact=True) or condition
    z = g.pick_value() or x
    return g.add_node("Where", condition[0], z, partner(g, z), exact=True)


def add_integers(g: RandomGraphBuilder) -> object:
    """A Cast to integers, integer arithmetic, and maybe a Cast back."""
    x = g.pick_value(lambda m: m.is_exact and all(np.abs(a).max(initial=0) < 1e4 for a in m.arrays))
    if x is None:
        return None
    dtype = (DataType.INT64, DataType.INT32, DataType.INT8, DataType.BOOL)[g.draw_int(3)]
    converted = g.add_node("Cast", x, to=dtype, exact=True)
    if converted is None:
        return None
    if dtype in (DataType.INT64, DataType.INT32):
        number = g.add_constant(g.choose((1, 2, 3, 5)), dtype.numpy.type)
        converted = (
            g.add_node(
                g.choose_name("Add", "Mul", "Mod", "Div", "Max", "Sub"), converted[0], number, exact=True
            )
            or converted
        )
    return g.add_node("Cast", converted[0], to=F, exact=True) if g.flip(0.7) else converted


def add_logic(g: RandomGraphBuilder) -> object:
    a = g.pick_value(dtype=B)
    b = a and g.pick_value(lambda m: [x.shape for x in m.arrays] == [x.shape for x in a.arrays], B)
    result = a and b and g.add_node(g.choose_name("And", "Or", "Xor"), a, b, exact=True)
    return result and g.add_node("Cast", result[0], to=F, exact=True)


ELEMENTWISE: tuple[GenerateNode, ...] = (
    add_unary, add_unary, add_unary, add_unary,
    add_clip,
    add_binary, add_binary, add_binary, add_binary,
    add_residual, add_residual,
    add_variadic, add_selection, add_integers, add_logic,
)  # fmt: skip
