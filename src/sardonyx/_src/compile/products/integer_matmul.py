"""Matrix products of bytes as steps: rows of A in words of four, B in panels of words."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from sardonyx._src.compile.elements import memory
from sardonyx._src.compile.llvm.target import Target
from sardonyx._src.compile.products.ending import Operand
from sardonyx._src.compile.products.integer_micro import IntegerMicro
from sardonyx._src.compile.products.integer_tail import IntegerTail
from sardonyx._src.compile.products.matmul import matmul
from sardonyx._src.compile.products.matmul_nest import MatmulNest
from sardonyx._src.compile.products.panels import Panels
from sardonyx._src.compile.step import Kernel, Step
from sardonyx._src.compile.tensor import Tensor
from sardonyx._src.compile.text import Value


def integer_matmul(
    a: Tensor,
    b: Panels,
    y: Tensor,
    bias: Tensor | None,
    tail: IntegerTail,
    operands: tuple[Tensor, ...] = (),
    *,
    flips: bool = False,
) -> list[Step]:
    """y [..., M, N] = tail(a [..., M, K] @ b [..., K, N] + bias), as `matmul` has it.

    a: words, as `words.in_words` makes them; flips: whether they are of int8, to each of which 128 is added.  bias: [panels,
    width] int32.
    """
    kernel = Kernel(
        f"matmul_bytes_{b.tile.vectors}_{bias is not None}_{flips}:{tail.key}",
        partial(source, vectors=b.tile.vectors, tail=tail, biased=bias is not None, flips=flips),
    )
    steps = matmul(a, b, y, bias=bias, tail=tail, operands=operands)
    return [replace(step, kernel=kernel) for step in steps]


def source(name: str, target: Target, *, vectors: int, tail: IntegerTail, biased: bool, flips: bool) -> str:
    code = IntegerMatmul(vectors, tail, target, flips=flips, biased=biased)
    code.units()
    return code.module(name)


class IntegerMatmul(IntegerMicro, MatmulNest):
    """The loops of `MatmulNest`; batches of results and operands are apart by elements of their own types."""

    def __init__(self, vectors: int, tail: IntegerTail, target: Target, *, flips: bool, biased: bool) -> None:
        super().__init__(vectors, tail, target, biased=biased, strided=False)
        self.in_bytes(tail, target, flips=flips)

    def moved(self, base: str, name: str, outer: Value, inner: Value) -> str:
        offset = outer * self.sizes[f"{name}_outer"] + inner * self.sizes[f"{name}_inner"]
        return self.address(base, offset, memory(self.typed.to).written if name == "y" else "float")

    def operand_of(self, operand: Operand, at: int, outer: Value, inner: Value) -> Operand:
        index = next(i for i, one in enumerate(self.written.operands) if one is operand)
        offset = outer * self.size(at) + inner * self.size(at + 1)
        element = memory(self.typed.types[index]).written
        return replace(operand, address=self.address(operand.address, offset, element))
