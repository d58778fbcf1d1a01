"""Some vectors of a row: read, worked out, and written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sardonyx._src.compile.blocks import Slot, alignment
from sardonyx._src.compile.elements import ELEMENTS, fetched, memory, storable
from sardonyx._src.compile.elementwise.form import Form
from sardonyx._src.compile.loops.ir import Load, Local
from sardonyx._src.compile.text import Kind, Value
from sardonyx._src.compile.values import Leaf, Values
from sardonyx._src.dtypes import DataType


class Stretch:
    """`count` vectors of `lanes` elements in a row.

    addresses: of the row in each tensor, outputs first.  steps: from element to element, where that is not 0 or 1.
    same: by number, the inputs that have one element for the whole row.  mask: the lanes that are there, if not all.
    """

    def __init__(
        self,
        code: Values,
        form: Form,
        addresses: Sequence[str],
        steps: Sequence[Value | None],
        same: Mapping[int, Value],
        lanes: int,
        count: int,
        mask: Value | None = None,
    ) -> None:
        self.code, self.form, self.addresses, self.steps = code, form, addresses, steps
        self.lanes, self.count, self.mask = lanes, count, mask
        self.same = {i: code.spread(value, lanes) for i, value in same.items()}

    def whole(self, at: Value) -> None:
        """The elements from a place on; all reads come first, since an output may lie in the place of an input."""
        outputs = len(self.form.outputs)
        places = [at + k * self.lanes for k in range(self.count)]
        inputs = [[self.read(outputs + i, p) for i in range(len(self.form.inputs))] for p in places]
        kinds = [Kind(ELEMENTS[o.dtype], self.lanes) for o in self.form.outputs]
        found = self.code.together(self.form.values, kinds, [reader(given) for given in inputs])
        for place, values in zip(places, found, strict=True):
            for i, value in enumerate(values):
                self.write(i, place, storable(value, self.dtype(i)))

    # --- memory ------------------------------------------------------------------------------

    def dtype(self, index: int) -> DataType:
        return self.form.operands[index].dtype

    def kind(self, index: int) -> Kind:
        """A vector of a tensor as it stands in memory."""
        return Kind(memory(self.dtype(index)).element, self.lanes)

    def read(self, index: int, place: Value) -> Value:
        if index in self.same:
            return self.same[index]
        if (step := self.steps[index]) is not None:
            found = self.gathered(index, place, step)
        elif self.mask is not None:
            found = self.code.read_where(self.mask, self.slot(index, place))
        else:
            found = self.code.read(self.slot(index, place))
        return fetched(found, self.dtype(index))

    def write(self, index: int, place: Value, value: Value) -> None:
        if (step := self.steps[index]) is not None:
            self.scatter(index, place, step, value)
        elif self.mask is not None:
            self.code.write_where(self.mask, self.slot(index, place), value)
        else:
            self.code.write(self.slot(index, place), value)

    def slot(self, index: int, place: Value) -> Slot:
        kind = self.kind(index)
        return Slot(self.code.address(self.addresses[index], place, kind.written), kind)

    def gathered(self, index: int, place: Value, step: Value) -> Value:
        """Elements some step apart."""
        if self.lanes == 1:
            return self.code.read(self.slot(index, place * step))
        kind, mask = self.kind(index), self.lanes_there()
        name = f"@llvm.masked.gather.{kind.suffix}.v{self.lanes}p0"
        pointers = f"<{self.lanes} x ptr>"
        declared = f"declare {kind} {name}({pointers}, i32 immarg, {mask.kind}, {kind})"
        self.code.declarations[declared] = None
        given = f"{pointers} {self.pointers(index, place, step)}, i32 {alignment(kind)}"
        return self.code.emit(kind, f"call {kind} {name}({given}, {mask}, {kind} zeroinitializer)")

    def scatter(self, index: int, place: Value, step: Value, value: Value) -> None:
        if self.lanes == 1:
            self.code.write(self.slot(index, place * step), value)
            return
        kind, mask = self.kind(index), self.lanes_there()
        name = f"@llvm.masked.scatter.{kind.suffix}.v{self.lanes}p0"
        pointers = f"<{self.lanes} x ptr>"
        self.code.declarations[f"declare void {name}({kind}, {pointers}, i32 immarg, {mask.kind})"] = None
        given = f"{value}, {pointers} {self.pointers(index, place, step)}, i32 {alignment(kind)}"
        self.code.lines.append(f" call void {name}({given}, {mask})")

    def lanes_there(self) -> Value:
        every = self.code.constant(1, Kind("i1", self.lanes))
        return every if self.mask is None else self.mask

    def pointers(self, index: int, place: Value, step: Value) -> str:
        """The name of the addresses of as many elements as there are lanes."""
        numbers = ", ".join(f"i64 {i}" for i in range(self.lanes))
        lanes = Value(self.code, Kind("i64", self.lanes), f"<{numbers}>")
        places = (lanes + self.code.spread(place, self.lanes)) * self.code.spread(step, self.lanes)
        return self.code.address(self.addresses[index], places, self.kind(index).written)


def reader(given: Sequence[Value]) -> Leaf:
    """What finds an input by its name."""

    def leaf(one: Local | Load) -> Value:
        assert isinstance(one, Local), f"{one} is no input of an elementwise kernel"
        return given[int(one.name[1:])]

    return leaf
