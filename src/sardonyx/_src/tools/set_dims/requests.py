"""The requested dims, as substitutions of variables and changes of numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from sardonyx._src.dataclass import dataclass
from sardonyx._src.errors import InputError
from sardonyx._src.ir import Model, TensorType, Value
from sardonyx._src.ir.dims import Dim, Expr, from_param, symbol
from sardonyx._src.suggestions import suggest
from sardonyx._src.tools.calls import main_graphs
from sardonyx._src.tools.symbols import dim_names

Size = int | str  # a length, or the name of a variable


@dataclass(frozen=True, slots=True)
class AxisChange:
    """A static dim of an input that becomes another length, or a variable."""

    value: Value
    axis: int
    old: int
    new: Dim


class DimRequests:
    """The requests for a model.

    mapping: the dims that replace dimension variables.
    changes: the changes of static dims.
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self.inputs = {value.name: value for value in model.graph.inputs}
        self.known = dim_names(main_graphs(model))
        self.mapping: dict[str, Dim] = {}
        self.changes: list[AxisChange] = []

    def fix(self, dims: Mapping[str, int]) -> None:
        """Set variables to lengths."""
        for name, size in dims.items():
            if name not in self.known:
                hint = suggest(name, sorted(self.known), "dims")
                raise InputError(f"the model has no dim {name!r}{hint}", name=name)
            self.bind(name, parse_size(size, name), f"dim {name!r}")

    def reshape(self, shapes: Mapping[str, Sequence[Size]]) -> None:
        """Set shapes of inputs."""
        for name, sizes in shapes.items():
            value, type = self.tensor(name)
            shape = tuple(parse_size(size, name) for size in sizes)
            if type.shape is None:
                value.type = replace(type, shape=shape)
                continue
            if len(type.shape) != len(shape):
                what = f"the shape of input {name!r} must have rank {len(type.shape)}, as {type}"
                raise InputError(f"{what}; got {len(shape)} sizes", name=name)
            for axis, size in enumerate(shape):
                self.set_axis(value, axis, size)

    def free(self, names: Mapping[tuple[str, int], str]) -> None:
        """Turn axes of inputs into variables."""
        for (name, axis), variable in names.items():
            value, type = self.tensor(name)
            rank = len(type.shape or ())
            if not -rank <= axis < rank:
                raise InputError(
                    f"the axis of input {name!r} must be in [{-rank}, {rank}), as it is {type}; got {axis}",
                    name=name,
                )
            size = parse_size(variable, name)
            if isinstance(size, int):
                raise InputError(
                    f"the dim of axis {axis} of input {name!r} must be the name of a variable; got {variable}",
                    name=name,
                )
            self.set_axis(value, axis % rank, size)

    def tensor(self, name: str) -> tuple[Value, TensorType]:
        value = self.inputs.get(name)
        if value is None:
            hint = suggest(name, sorted(self.inputs), "inputs")
            raise InputError(f"the model has no input {name!r}{hint}", name=name)
        if value.initializer is not None:
            what = f"input {name!r} has a default value, which fixes its shape"
            raise InputError(f"{what}; remove the default first", name=name)
        if not isinstance(value.type, TensorType):
            raise InputError(
                f"input {name!r} must be a tensor; got type {value.type or 'unknown'}", name=name
            )
        return value, value.type

    def set_axis(self, value: Value, axis: int, new: int | Expr) -> None:
        """Set one dim of one input."""
        assert isinstance(value.type, TensorType) and value.type.shape is not None, "checked by the caller"
        old = value.type.shape[axis]
        if old is None:
            sizes = value.type.shape
            value.type = replace(value.type, shape=(*sizes[:axis], new, *sizes[axis + 1 :]))
        elif isinstance(old, int):
            if old != new:
                self.changes.append(AxisChange(value, axis, old, new))
        else:
            self.bind(str(old), new, f"input {value.name!r} axis {axis}")

    def bind(self, name: str, new: int | Expr, place: str) -> None:
        """Substitute a variable, or an expression none of whose variables the model uses otherwise."""
        dim = from_param(name)
        if dim.symbols() != {name} and dim.symbols() & (self.known - {name}):
            parts = ", ".join(sorted(dim.symbols()))
            raise InputError(f"{place} is {name}; set its variables instead ({parts})", name=name)
        if self.mapping.setdefault(name, new) != new:
            what = f"{place}: {name!r} would be both {self.mapping[name]} and {new}"
            raise InputError(f"{what}; a variable has one size", name=name)


def parse_size(size: Size, name: str) -> int | Expr:
    """A size as a dim; raises InputError for a negative number, and for a string that is not a single name."""
    if isinstance(size, int):
        if size < 0:
            raise InputError(f"{name}: a size must be >= 0; got {size}", name=name)
        return size
    if size.isdecimal():
        return int(size)
    dim = from_param(size)
    if not size or dim != symbol(size):
        raise InputError(
            f"{name}: a size must be a number or the name of a variable; got {size!r}", name=name
        )
    return dim
