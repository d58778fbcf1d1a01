"""What a caller asks for, as variables to replace and as numbers to change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sardonyx._src.errors import InputError
from sardonyx._src.ir.dims import Dim, Expr, from_param, symbol
from sardonyx._src.ir.graph import Model, Value
from sardonyx._src.ir.types import TensorType
from sardonyx._src.rewrite.tools.calls import main_graphs
from sardonyx._src.rewrite.tools.lookup import near
from sardonyx._src.rewrite.tools.symbols import names_in

Size = int | str  # a number, or the name of a variable


@dataclass(frozen=True, slots=True)
class Change:
    """A number on an axis of an input that is to become another one, or a variable."""

    value: Value
    axis: int
    old: int
    new: Dim


class Requests:
    """The requests so far: `mapping` has what stands for each variable, `changes` the numbers to change."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.inputs = {value.name: value for value in model.graph.inputs}
        self.known = names_in(main_graphs(model))
        self.mapping: dict[str, Dim] = {}
        self.changes: list[Change] = []

    def fix(self, dims: Mapping[str, int]) -> None:
        """Variables that become numbers."""
        for name, size in dims.items():
            if name not in self.known:
                raise InputError(f"the model has no dim {name!r}{near(name, self.known)}", name=name)
            self.bind(name, checked(size, name), f"dim {name!r}")

    def reshape(self, shapes: Mapping[str, Sequence[Size]]) -> None:
        """Inputs that get a shape."""
        for name, sizes in shapes.items():
            value, found = self.tensor(name)
            wanted = tuple(checked(size, name) for size in sizes)
            if found.shape is None:
                value.type = replace(found, shape=wanted)
                continue
            if len(found.shape) != len(wanted):
                what = f"input {name!r} is {found}, of rank {len(found.shape)}"
                raise InputError(f"{what}; {len(wanted)} sizes are given", name=name)
            for axis, size in enumerate(wanted):
                self.put(value, axis, size)

    def free(self, names: Mapping[tuple[str, int], str]) -> None:
        """Axes of inputs that become variables."""
        for (name, axis), variable in names.items():
            value, found = self.tensor(name)
            rank = len(found.shape or ())
            if not -rank <= axis < rank:
                raise InputError(f"input {name!r} is {found}, and has no axis {axis}", name=name)
            size = checked(variable, name)
            if isinstance(size, int):
                raise InputError(f"{name}:{axis}={variable}: the name of a variable is wanted", name=name)
            self.put(value, axis % rank, size)

    def tensor(self, name: str) -> tuple[Value, TensorType]:
        value = self.inputs.get(name)
        if value is None:
            raise InputError(f"the model has no input {name!r}{near(name, self.inputs)}", name=name)
        if value.initializer is not None:
            what = f"input {name!r} has a default, whose sizes are those of its data"
            raise InputError(f"{what}; take the default away first", name=name)
        if not isinstance(value.type, TensorType):
            raise InputError(
                f"input {name!r} is {value.type or 'of no type'}, no tensor with sizes", name=name
            )
        return value, value.type

    def put(self, value: Value, axis: int, new: int | Expr) -> None:
        """One size of one input."""
        assert isinstance(value.type, TensorType) and value.type.shape is not None, "has been looked at"
        old = value.type.shape[axis]
        if old is None:
            sizes = value.type.shape
            value.type = replace(value.type, shape=(*sizes[:axis], new, *sizes[axis + 1 :]))
        elif isinstance(old, int):
            if old != new:
                self.changes.append(Change(value, axis, old, new))
        else:
            self.bind(str(old), new, f"input {value.name!r} axis {axis}")

    def bind(self, name: str, new: int | Expr, place: str) -> None:
        """Puts something for a variable, or for an expression that stands for nothing but itself."""
        meant = from_param(name)
        if meant.symbols() != {name} and meant.symbols() & (self.known - {name}):
            parts = ", ".join(sorted(meant.symbols()))
            raise InputError(f"{place} is {name}; set its variables instead ({parts})", name=name)
        if self.mapping.setdefault(name, new) != new:
            what = f"{place}: {name!r} would be both {self.mapping[name]} and {new}"
            raise InputError(f"{what}; a variable has one size", name=name)


def checked(size: Size, name: str) -> int | Expr:
    """A size as a dim; raises InputError for a negative one, and for a text that is no single name."""
    if isinstance(size, int):
        if size < 0:
            raise InputError(f"{name}: {size} is no size", name=name)
        return size
    if size.isdecimal():
        return int(size)
    found = from_param(size)
    if not size or found != symbol(size):
        raise InputError(f"{name}: {size!r} is neither a number nor the name of a variable", name=name)
    return found
