"""Which outputs feed which inputs, and that they fit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

from sardonyx._src.errors import InputError, InvalidModel
from sardonyx._src.ir.dims import Dim, Expr, symbol
from sardonyx._src.ir.graph import Model, Note, Value
from sardonyx._src.ir.types import MapType, OptionalType, SequenceType, SparseTensorType, TensorType, Type
from sardonyx._src.rewrite.tools.calls import main_graphs
from sardonyx._src.rewrite.tools.lookup import near, refuse_twice
from sardonyx._src.rewrite.tools.symbols import substitute, substituted_dim

Tensors = TensorType | SparseTensorType


def connections(a: Model, b: Model, connect: Iterable[tuple[str, str]] | None) -> dict[Value, Value]:
    """The output that feeds each input of the second model; see `merge`."""
    outputs = {value.name: value for value in a.graph.outputs}
    inputs = {value.name: value for value in b.graph.inputs}
    pairs = default_pairs(outputs, inputs) if connect is None else list(connect)
    refuse_twice((name for _, name in pairs), "input")
    for name, known, what in chain(
        ((output, outputs, "first model has no output") for output, _ in pairs),
        ((name, inputs, "second model has no input") for _, name in pairs),
    ):
        if name not in known:
            raise InputError(f"the {what} {name!r}{near(name, known)}", name=name)
    return {inputs[name]: outputs[output] for output, name in pairs}


def default_pairs(outputs: dict[str, Value], inputs: dict[str, Value]) -> list[tuple[str, str]]:
    same = [(name, name) for name in outputs if name in inputs]
    needed = [name for name, value in inputs.items() if value.initializer is None]
    if same:
        return same
    if len(outputs) == 1 and len(needed) == 1:
        return [(next(iter(outputs)), needed[0])]
    what = f"the first model has the outputs {sorted(outputs)}, the second the inputs {sorted(inputs)}"
    raise InputError(f"{what}, none of one name; say which feed which, as in y=x", name="connect")


def unify(a: Model, b: Model, connected: dict[Value, Value]) -> None:
    """Makes dims that meet one, in both models; raises InvalidModel where types cannot be the same.

    Variables of the two models have different names already.
    """
    known: dict[str, Dim] = {}
    for wanted, given in connected.items():
        place = f"output {given.name!r} into input {wanted.name!r}"
        for one, two in meeting(given.type, wanted.type, place):
            one, two = settled(one, known), settled(two, known)
            if one is None or two is None or one == two:
                continue
            if isinstance(one, int) and isinstance(two, int):
                raise InvalidModel(f"length {one} meets length {two}", location=place)
            found = solved(two, one) or solved(one, two)
            if found is None:
                a.notes.append(Note(place, f"whether {one} is {two} cannot be told: both stay"))
                continue
            name, dim = found
            known = {old: settled(value, {name: dim}) for old, value in known.items()} | {name: dim}
    for model in (a, b):
        substitute(main_graphs(model), known)


def settled(dim: Dim, known: dict[str, Dim]) -> Dim:
    return substituted_dim(dim, known)


def solved(dim: Dim, other: Dim) -> tuple[str, Dim] | None:
    """The variable that a dim is, and what it must be to equal the other; None where the dim is no lone variable."""
    if not isinstance(dim, Expr):
        return None
    names = dim.symbols()
    if len(names) != 1:
        return None
    (name,) = names
    if dim != symbol(name) or (isinstance(other, Expr) and name in other.symbols()):
        return None
    return name, other


def meeting(given: Type | None, wanted: Type | None, place: str) -> Iterator[tuple[Dim, Dim]]:
    """The dims of two types that must be the same; raises InvalidModel where kinds, element types or ranks differ."""
    if given is None or wanted is None:
        return
    alike = type(given) is type(wanted)
    if isinstance(given, Tensors) and isinstance(wanted, Tensors) and alike:
        yield from meeting_tensors(given, wanted, place)
    elif (
        isinstance(given, SequenceType | OptionalType)
        and isinstance(wanted, SequenceType | OptionalType)
        and alike
    ):
        yield from meeting(given.elem, wanted.elem, place)
    elif isinstance(given, MapType) and isinstance(wanted, MapType) and given.key is wanted.key:
        yield from meeting(given.value, wanted.value, place)
    elif given != wanted:
        raise InvalidModel(f"a value of type {given} cannot be a {wanted}", location=place)


def meeting_tensors(given: Tensors, wanted: Tensors, place: str) -> Iterator[tuple[Dim, Dim]]:
    if given.dtype is not wanted.dtype:
        what = f"elements of {given.dtype.text} meet {wanted.dtype.text}"
        raise InvalidModel(f"{what}; put a Cast between the models", location=place)
    if given.shape is None or wanted.shape is None:
        return
    if len(given.shape) != len(wanted.shape):
        what = f"rank {len(given.shape)} ({given}) meets rank {len(wanted.shape)} ({wanted})"
        raise InvalidModel(what, location=place)
    yield from zip(given.shape, wanted.shape, strict=True)
