"""The results of chunks of keys taken together: what follows where units of few queries have not all of the keys.

A part is a vector of a query's maximum, one of its sum and one of whether it may look at any key of the chunk, and then
its results, not yet divided by the sum.
"""

from __future__ import annotations

from sardonyx._src.compile.attention.decay import decay
from sardonyx._src.compile.attention.heads import AHEAD, ROUND
from sardonyx._src.compile.llvm.target import Target
from sardonyx._src.compile.products.lanes import Lanes
from sardonyx._src.compile.step import Kernel, Step
from sardonyx._src.compile.tensor import Tensor
from sardonyx._src.compile.text import Value
from sardonyx._src.ir.dims import Known, dim_min

FLOAT = 4  # bytes


def joined(parts: Tensor, y: Tensor, *, zeros: bool) -> Step:
    """The step for parts [B, H, S, chunks, ahead + E], y [B, H, S, E]; nothing if there is one chunk.

    zeros: whether a query that may look at no key of any chunk is answered by zeros; otherwise by NaN.
    """
    kernel = Kernel(
        f"attention_joined{'_zeros' * zeros}", lambda name, target: Joined(target, zeros=zeros).module(name)
    )
    batch, heads, queries, width = y.shape
    chunks, pitch = parts.shape[3:]
    rows: Known = batch * heads * queries * dim_min(chunks - 1, 1)
    return Step(
        kernel,
        (parts, y, heads, queries, chunks, width, pitch, *y.strides[:3]),
        units=rows,
        reads=(parts,),
        writes=(y,),
        flops=rows * chunks * (width + 20) * 2,
        traffic=parts.bytes + y.bytes,
        scratch=chunks * ROUND * FLOAT,
    )


class Joined(Lanes):
    """The text of the kernel; a unit is a query. Scratch: a vector for each chunk, what its results are multiplied by."""

    def __init__(self, target: Target, *, zeros: bool) -> None:
        super().__init__(target)
        self.zeros = zeros
        self.parts, self.y = self.pointer(0), self.pointer(1)
        self.heads, self.queries, self.chunks, self.width, self.pitch, *self.steps = (
            self.size(i) for i in range(2, 10)
        )
        self.counted(self.first, self.last, 1, self.query, "query")

    def query(self, unit: Value) -> None:
        head, query = self.divided(unit, self.queries)
        batch, head = self.divided(head, self.heads)
        y = self.address(self.y, batch * self.steps[0] + head * self.steps[1] + query * self.steps[2])
        part = self.address(self.parts, unit * self.chunks * self.pitch)
        factors = self.factors(part)

        def columns(d: Value, mask: Value | None) -> None:
            total = self.new_slot("total", self.vector)
            self.write(total, self.none)

            def add(chunk: Value) -> None:
                result = self.taken(self.address(part, chunk * self.pitch + d + AHEAD))
                factor = self.taken(self.address(self.scratch, chunk * ROUND))
                self.write(total, self.fma(factor, result, self.read(total)))

            self.counted(self.number(0), self.chunks, 1, add, "add")
            self.put(self.read(total) * factors, self.address(y, d), mask)

        self.each(self.width, columns)

    def factors(self, part: str) -> Value:
        """Puts what each chunk counts into scratch; answers what all results are multiplied by."""
        greatest, total, counts = (self.new_slot(name, self.vector) for name in ("max", "sum", "counts"))
        self.write(greatest, self.constant(float("-inf"), self.vector))
        for slot in (total, counts):
            self.write(slot, self.none)

        def look(chunk: Value) -> None:
            found, most = self.held(part, chunk, 0), self.read(greatest)
            self.write(greatest, self.select(found > most, found, most))
            self.write(counts, self.read(counts) + self.held(part, chunk, 2))

        def weigh(chunk: Value) -> None:
            factor = self.called(decay, self.held(part, chunk, 0) - base)
            self.put(factor, self.address(self.scratch, chunk * ROUND))
            self.write(total, self.fma(factor, self.held(part, chunk, 1), self.read(total)))

        self.counted(self.number(0), self.chunks, 1, look, "look")
        most = self.read(greatest)
        base = self.select(most.equals(float("-inf")), 0.0, most)
        self.counted(self.number(0), self.chunks, 1, weigh, "weigh")
        inverse = 1.0 / self.read(total)
        return self.select(self.read(counts).equals(0.0), 0.0, inverse) if self.zeros else inverse

    def held(self, part: str, chunk: Value, place: int) -> Value:
        """A vector ahead of the results of a chunk."""
        return self.taken(self.address(part, chunk * self.pitch + place * ROUND))

    @property
    def none(self) -> Value:
        return self.constant(0.0, self.vector)
