"""Guards on the sizes of inputs, found in the model before it is rewritten.

Some operators require sizes to be equal, and nodes that replace them later may not check that.  Exporters write the
size after a convolution as a quotient rounded toward zero, `(h - 1) / 2 + 1`.  It equals the rounded-down quotient of
shape inference only if the dividend is not negative, so least sizes are assumed that make it so.  A Slice from `-n` on takes the
last n entries, but all if n is 0, so n is assumed to be at least 1.  A guard states that two dims are equal: `min(h, 1) == 1`
states that h is at least 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from typing import TypeAlias

from sardonyx._src.compile.prepare.required_sizes import (
    depend_on,
    replace_sizes,
    required_guards,
    required_sizes,
    size_guards,
)
from sardonyx._src.compile.program import Guard
from sardonyx._src.dtypes import DataType
from sardonyx._src.infer.incremental import IncrementalInference
from sardonyx._src.infer.stated_types import all_values
from sardonyx._src.ir import Model, TensorType
from sardonyx._src.ir.dims import Expr, Known, bounds, dim_max, dim_min, known_equal, known_ge, symbol
from sardonyx._src.ir.dims.atoms import DimCall
from sardonyx._src.ir.walk import nodes
from sardonyx._src.ops import registry
from sardonyx._src.ops.math.ratios import Element, Ratio, denominator, numerator
from sardonyx._src.ops.quantization.cast import HOLD_SIZES

TypedElement: TypeAlias = tuple[TensorType, Element]  # an element with the type of its tensor
MAX_LEAST_SIZE = 64  # lower bounds of a size are tried up to this one


def guard_sizes(model: Model, sizes: Mapping[str, object]) -> dict[Guard, None]:
    """The guards of the named sizes of inputs, each once.

    Infers the types of the model, and replaces sizes in the types of its inputs by the sizes that the guards imply.
    """
    if not sizes:
        return {}  # every guard is about a named size
    names, least = sizes.keys(), dict.fromkeys(sizes, 0)
    required: dict[str, Known] = {}
    while True:
        facts = IncrementalInference(model)
        facts.walk()
        new_sizes = required_sizes(model.graph, facts, names)
        required |= new_sizes
        elements = list(known_elements(model, facts))
        counted = positions_from_back(model, facts)
        for name, low in least_sizes([*dividends(elements), *counted], names).items():
            if low > least[name] and name not in new_sizes:
                least[name], new_sizes[name] = low, symbol(name, low=low)
        if not new_sizes:
            break
        replace_sizes(model.graph, new_sizes)
    lows = {Guard.of(dim_min(symbol(name), low), low): None for name, low in least.items() if low}
    others = required_guards(model.graph, facts, names), rounding_guards(elements, names)
    return size_guards(required) | lows | others[0] | others[1]


def rounding_guards(elements: Iterable[TypedElement], names: Set[str]) -> dict[Guard, None]:
    """Guards that the types in which a model computes sizes represent them exactly, and that rounding a ratio crosses no integer."""
    guards: dict[Guard, None] = {}
    for type_, element in elements:
        size, limit = numerator(element), HOLD_SIZES.get(type_.dtype)
        if limit is not None and type_.dtype is not DataType.INT64 and depend_on(names, size):
            limit -= denominator(element)  # n / d is an integer, or at least 1 / d away from the nearest
            limits = (size, dim_min(size, limit)), (size, dim_max(size, -limit))
            guards |= {Guard.of(a, b): None for a, b in limits if known_equal(a, b) is None}
    return guards


def known_elements(model: Model, facts: IncrementalInference) -> Iterator[TypedElement]:
    """The elements of small computed tensors that depend on sizes, each with the type of its tensor."""
    for value in all_values(model):
        if isinstance(value.type, TensorType) and value.producer is not None:
            elements = facts.elements(value)
            if elements is not None and elements.dtype == object:
                for element in elements.flat:
                    if isinstance(element, Expr | Ratio):
                        yield value.type, element


# --- least sizes -----------------------------------------------------------------------------


def least_sizes(terms: Iterable[Expr], names: Set[str]) -> dict[str, int]:
    """The least size, by name, from which on none of the terms is negative."""
    least: dict[str, int] = {}
    for term in dict.fromkeys(terms):
        for name in term.symbols() & names:
            if (low := least_size(term, name)) is not None:
                least[name] = max(low, least.get(name, 0))
    return least


def dividends(elements: Iterable[TypedElement]) -> Iterator[Expr]:
    """The dividends of rounded quotients, which must not be negative."""
    for size in {numerator(element) for _, element in elements}:
        yield from clamped_dividends(size)


def positions_from_back(model: Model, facts: IncrementalInference) -> Iterator[Expr]:
    """n - 1 for each start or end `-n` of a Slice, where n may be 0; in branches, too, which may be all that runs."""
    for node in nodes(model.graph):
        operator = registry.find(node.domain, node.op_type)
        is_slice = operator is not None and operator.size_rule == "slice_ends"
        for value in node.inputs[1:3] if is_slice else ():
            positions = facts.elements(value) if value is not None else None
            for position in () if positions is None else positions.flat:
                if isinstance(position, Expr) and bounds(position)[1] == 0:
                    count = -position - 1
                    assert isinstance(count, Expr), f"{position} depends on sizes"
                    yield count


def clamped_dividends(dim: Known) -> Iterator[Expr]:
    """The x of each max(x, 0) in the dividend of a division by a number, as inference writes quotients rounded toward zero."""
    for call in calls_in(dim):
        if call.op == "//" and isinstance(call.args[1], int):
            for inner in calls_in(call.args[0]):
                if inner.op == "max" and inner.args[1:] == (0,) and isinstance(inner.args[0], Expr):
                    yield inner.args[0]


def calls_in(dim: Known) -> Iterator[DimCall]:
    """Every call in an expression."""
    for monomial in () if isinstance(dim, int) else dim.terms:
        for atom in monomial:
            if isinstance(atom, DimCall):
                yield atom
                for arg in atom.args:
                    yield from calls_in(arg)


def least_size(dim: Expr, name: str) -> int | None:
    """The least value of a symbol from which on a dim is known not to be negative; None if there is none."""
    for low in range(1, MAX_LEAST_SIZE + 1):
        if known_ge(dim.substitute({name: symbol(name, low=low)}), 0):
            return low
    return None
