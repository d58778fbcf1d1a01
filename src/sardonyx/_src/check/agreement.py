"""Sizes of inputs that an operator wants to be the same, for what they tell of dimension variables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from sardonyx._src.check.uses import Use
from sardonyx._src.ir.dims import Dim, Expr
from sardonyx._src.ir.types import Shape, SparseTensorType, TensorType

Pair = tuple[Dim, Dim]


def agreeing(use: Use) -> Iterator[Pair]:
    """Pairs of sizes that are the same in every run, one of them at least an expression."""
    pairs = PAIRS.get(use.schema.name)
    if pairs is None or use.schema.domain:
        return
    for a, b in pairs(use):
        if a != b and (isinstance(a, Expr) or isinstance(b, Expr)):
            yield a, b


def shapes_of(use: Use, inputs: Sequence[int]) -> list[Shape] | None:
    """The shapes of some inputs; None where one has no axes, or none that are known."""
    found: list[Shape] = []
    for i in inputs:
        given = use.given.type(i)
        if not isinstance(given, TensorType | SparseTensorType) or not given.shape:
            return None
        found.append(given.shape)
    return found


def product(*inputs: int) -> Callable[[Use], Iterator[Pair]]:
    """Of a matrix product of two inputs: the sizes to be summed over."""

    def pairs(use: Use) -> Iterator[Pair]:
        shapes = shapes_of(use, inputs)
        if shapes is not None:
            a, b = shapes
            yield a[-1], b[-2] if len(b) > 1 else b[0]

    return pairs


def gemm(use: Use) -> Iterator[Pair]:
    shapes = shapes_of(use, (0, 1))
    if shapes is not None and len(shapes[0]) == len(shapes[1]) == 2:
        a, b = shapes
        yield a[0 if use.given.integer("transA") else 1], b[1 if use.given.integer("transB") else 0]


def concat(use: Use) -> Iterator[Pair]:
    shapes = shapes_of(use, range(len(use.given.inputs)))
    if shapes is None or len(set(map(len, shapes))) != 1:
        return
    along = use.given.integer("axis", 1) % len(shapes[0])
    for other in shapes[1:]:
        yield from (pair for i, pair in enumerate(zip(shapes[0], other, strict=True)) if i != along)


PAIRS: Mapping[str, Callable[[Use], Iterator[Pair]]] = {
    "Concat": concat,
    "Gemm": gemm,
    "MatMul": product(0, 1),
    "MatMulInteger": product(0, 1),
    "QLinearMatMul": product(0, 3),
}
