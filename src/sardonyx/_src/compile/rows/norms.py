"""LayerNormalization and RMSNormalization, with a sum before and a tail behind."""

from __future__ import annotations

from dataclasses import dataclass, field

from sardonyx._src.compile.llvm.target import Target
from sardonyx._src.compile.moves.layout import Layout, merged, without_ones
from sardonyx._src.compile.moves.layout import rows as rows_of
from sardonyx._src.compile.rows.statistics import StatisticsText
from sardonyx._src.compile.rows.vectors import rows_of_unit, units, word
from sardonyx._src.compile.step import Arg, Kernel, Step
from sardonyx._src.compile.tail import Tail, arguments
from sardonyx._src.compile.tensor import Tensor
from sardonyx._src.compile.text import Value


@dataclass(frozen=True, slots=True)
class Form:
    """What the text of a normalisation depends on: which of the tensors of a `Norm` there are, and the tail."""

    centered: bool
    names: tuple[str, ...]
    tail: Tail
    outside: bool = False

    @property
    def key(self) -> str:
        kind = "standard" if self.outside else "layer" if self.centered else "rms"
        return f"{kind}_norm_{'_'.join(self.names)}_{self.tail.key}"


@dataclass(frozen=True, slots=True)
class Norm:
    """What a normalisation does besides.

    centered: whether rows lose their mean.  addend: what is added to x first.  total: where that sum goes.
    mean, inverse: where the statistics go, a number for each row.  outside: whether epsilon is added to the deviation
    instead of its square; rows lose their mean then.
    """

    epsilon: float
    centered: bool = True
    scale: Tensor | None = None
    bias: Tensor | None = None
    addend: Tensor | None = None
    total: Tensor | None = None
    mean: Tensor | None = None
    inverse: Tensor | None = None
    tail: Tail = field(default_factory=Tail)
    operands: tuple[Tensor, ...] = ()
    outside: bool = False

    def given(self, *names: str) -> tuple[Tensor, ...]:
        """Those of the tensors that there are."""
        return tuple(t for name in names if (t := getattr(self, name)) is not None)

    @property
    def form(self) -> Form:
        names = "addend", "total", "scale", "bias", "mean", "inverse"
        return Form(
            self.centered, tuple(n for n in names if getattr(self, n) is not None), self.tail, self.outside
        )


def normalised(x: Tensor, y: Tensor, axis: int, norm: Norm, nodes: tuple[str, ...] = ()) -> Step | None:
    """y = (x + addend - mean) / sqrt(variance + epsilon) * scale + bias, over all dims from `axis` on, then the tail.

    x, y, addend, total: float32 of one shape, dense from `axis` on; y, total and x may be one tensor.  scale, bias:
    the dims from `axis` on, dense; mean, inverse: dense, for each row.  Without a centre the root of the mean square
    stands for the deviation.  None where the layout has no kernel.
    """
    first = axis % x.rank
    rowwise, columns = (x, y, *norm.given("addend", "total")), norm.given("scale", "bias")
    statistics = norm.given("mean", "inverse")
    inner = Layout(x.shape[first:], tuple(t.strides[first:] for t in rowwise))
    n = inner.count
    if not in_a_row(inner) or not all(t.is_dense and t.count == n for t in columns):
        return None
    rows = merged(without_ones(Layout(x.shape[:first], tuple(t.strides[:first] for t in rowwise))))
    if rows.rank > 1 and (statistics or norm.operands):
        return None  # those count rows by one number
    rows, form = rows_of(rows, by=1), norm.form
    rank = rows.rank
    args: tuple[Arg, ...] = (*rowwise, *columns, *statistics, *arguments(norm.tail, norm.operands))
    args = (*args, word(norm.epsilon), rows.count, rows_of_unit(n), n, *rows.words())
    reads, writes = (
        (x, *norm.given("addend"), *columns, *norm.operands),
        (y, *norm.given("total"), *statistics),
    )
    kernel = Kernel(f"{form.key}_{rank}", lambda name, target: NormText(target, form, rank).module(name))
    flops, traffic = x.count * 8, x.bytes * len(rowwise)
    return Step(kernel, args, units(rows.count, n), reads, writes, flops=flops, traffic=traffic, nodes=nodes)


def in_a_row(layout: Layout) -> bool:
    """Whether all operands are dense."""
    found = merged(without_ones(layout))
    return found.rank == 0 or (found.rank == 1 and all(s == (1,) for s in found.strides))


class NormText(StatisticsText):
    """The text of a normalisation of rows.

    args: x, y, those of addend, total, scale, bias, mean and inverse that there are, operands of the tail, epsilon,
    rows, rows of a unit, n, dims of the rows.
    """

    def __init__(self, target: Target, form: Form, rank: int) -> None:
        super().__init__(target)
        self.form = form
        self.bases = {name: self.pointer(i) for i, name in enumerate(("x", "y", *form.names))}
        at = self.read_operands(form.tail, len(self.bases))
        self.epsilon = self.real(at)
        rows, many, self.n = (self.size(at + i) for i in range(1, 4))
        self.walked: list[str] = [name for name in ("x", "y", "addend", "total") if name in self.bases]
        self.each_row(rows, many, self.dims(at + 4, rank, len(self.walked)), self.normal)

    def normal(self, row: Value, offsets: list[Value]) -> None:
        places = {
            name: self.row(self.bases[name], offset)
            for name, offset in zip(self.walked, offsets, strict=True)
        }
        source = places["x"]
        if "addend" in places:
            source = places.get("total", places["y"])
        elif "total" in places:
            source = places["total"]
        centre = self.constant(0, self.scalar)
        if self.form.centered:
            centre = self.mean(self.n, lambda at, mask: self.begun(places, source, at, mask))
        elif source != places["x"]:
            self.along(self.n, lambda i, many, mask: self.copied_sum(places, source, i, many, mask))
        inverse = self.steepness(self.squares(self.n, source, self.wide(centre)))
        self.keep("mean", row, centre)
        self.keep("inverse", row, inverse)
        both = self.wide(centre), self.wide(inverse)
        self.along(self.n, lambda i, many, mask: self.end(places["y"], source, row, both, i, many, mask))

    def steepness(self, square: Value) -> Value:
        """What a row is multiplied by, from the mean of its squares."""
        if self.form.outside:
            return 1 / (self.intrinsic("sqrt", square) + self.epsilon)
        return self.inverse(square, self.epsilon)

    def begun(self, places: dict[str, str], source: str, at: Value, mask: Value | None) -> Value:
        """A vector of what is normalised, which is put where the passes that follow find it."""
        found = self.fetched(places["x"], at, mask)
        if "addend" in places:
            found = found + self.fetched(places["addend"], at, mask)
        if source != places["x"]:
            self.put(found, source, at, mask)
        return found

    def copied_sum(
        self, places: dict[str, str], source: str, i: Value, many: int, mask: Value | None
    ) -> None:
        for v in range(many):
            self.begun(places, source, i + v * self.lanes, mask)

    def keep(self, name: str, row: Value, value: Value) -> None:
        if name in self.bases:
            self.lines.append(f" store {value}, ptr {self.row(self.bases[name], row)}, align 4")

    def end(
        self,
        target: str,
        source: str,
        row: Value,
        both: tuple[Value, Value],
        i: Value,
        many: int,
        mask: Value | None,
    ) -> None:
        """Some vectors of the result."""
        centre, inverse = both
        for v in range(many):
            at = i + v * self.lanes
            found = (self.fetched(source, at, mask) - centre) * inverse
            if "scale" in self.bases:
                scale = self.fetched(self.bases["scale"], at, mask)
                if "bias" in self.bases:
                    found = self.fma(found, scale, self.fetched(self.bases["bias"], at, mask))
                else:
                    found = found * scale
            elif "bias" in self.bases:
                found = found + self.fetched(self.bases["bias"], at, mask)
            self.put(self.finished(self.form.tail, found, row, at, mask), target, at, mask)
