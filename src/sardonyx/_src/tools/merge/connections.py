"""The connections between two models, and unification of their types."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

from sardonyx._src.errors import InputError, InvalidModel
from sardonyx._src.ir import (
    MapType,
    Model,
    OptionalType,
    SequenceType,
    SparseTensorType,
    TensorType,
    Type,
    Value,
)
from sardonyx._src.ir.dims import Dim, Expr, symbol
from sardonyx._src.ir.model import Note
from sardonyx._src.suggestions import suggest
from sardonyx._src.tools.calls import main_graphs
from sardonyx._src.tools.lookup import refuse_duplicates
from sardonyx._src.tools.symbols import substitute, substitute_dim

AnyTensorType = TensorType | SparseTensorType


def connections(a: Model, b: Model, connect: Iterable[tuple[str, str]] | None) -> dict[Value, Value]:
    """The output that feeds each input of the second model; see `merge`."""
    outputs = {value.name: value for value in a.graph.outputs}
    inputs = {value.name: value for value in b.graph.inputs}
    pairs = default_pairs(outputs, inputs) if connect is None else list(connect)
    refuse_duplicates((name for _, name in pairs), "input")
    for name, known, model, what in chain(
        ((output, outputs, "first", "output") for output, _ in pairs),
        ((name, inputs, "second", "input") for _, name in pairs),
    ):
        if name not in known:
            hint = suggest(name, sorted(known), f"{what}s")
            raise InputError(f"the {model} model has no {what} {name!r}{hint}", name=name)
    return {inputs[name]: outputs[output] for output, name in pairs}


def default_pairs(outputs: dict[str, Value], inputs: dict[str, Value]) -> list[tuple[str, str]]:
    same = [(name, name) for name in outputs if name in inputs]
    needed = [name for name, value in inputs.items() if value.initializer is None]
    if same:
        return same
    if len(outputs) == 1 and len(needed) == 1:
        return [(next(iter(outputs)), needed[0])]
    what = f"the first model has the outputs {sorted(outputs)}, the second the inputs {sorted(inputs)}"
    raise InputError(f"{what}, with no name in common; state the connections, as in y=x", name="connect")


def unify(a: Model, b: Model, connected: dict[Value, Value]) -> None:
    """Unify the dims of connected values in both models; raises InvalidModel if types are incompatible.

    The variables of the two models must have distinct names.
    """
    solved: dict[str, Dim] = {}
    for target, source in connected.items():
        edge = f"output {source.name!r} into input {target.name!r}"
        for left, right in unifiable_dims(source.type, target.type, edge):
            left, right = resolve_dim(left, solved), resolve_dim(right, solved)
            if left is None or right is None or left == right:
                continue
            if isinstance(left, int) and isinstance(right, int):
                raise InvalidModel(f"lengths must be equal; got {left} and {right}", location=edge)
            solution = solve_variable(right, left) or solve_variable(left, right)
            if solution is None:
                a.notes.append(Note(edge, f"whether {left} equals {right} is unknown: both are kept"))
                continue
            name, dim = solution
            solved = {old: resolve_dim(value, {name: dim}) for old, value in solved.items()} | {name: dim}
    for model in (a, b):
        substitute(main_graphs(model), solved)


def resolve_dim(dim: Dim, known: dict[str, Dim]) -> Dim:
    return substitute_dim(dim, known)


def solve_variable(dim: Dim, other: Dim) -> tuple[str, Dim] | None:
    """The solution of dim = other as a variable and its value; None unless `dim` is a single variable."""
    if not isinstance(dim, Expr):
        return None
    names = dim.symbols()
    if len(names) != 1:
        return None
    (name,) = names
    if dim != symbol(name) or (isinstance(other, Expr) and name in other.symbols()):
        return None
    return name, other


def unifiable_dims(source: Type | None, target: Type | None, place: str) -> Iterator[tuple[Dim, Dim]]:
    """The pairs of dims of two types that must be equal; raises InvalidModel if kinds, element types or ranks differ."""
    if source is None or target is None:
        return
    alike = type(source) is type(target)
    if isinstance(source, AnyTensorType) and isinstance(target, AnyTensorType) and alike:
        yield from unifiable_tensor_dims(source, target, place)
    elif (
        isinstance(source, SequenceType | OptionalType)
        and isinstance(target, SequenceType | OptionalType)
        and alike
    ):
        yield from unifiable_dims(source.elem, target.elem, place)
    elif isinstance(source, MapType) and isinstance(target, MapType) and source.key is target.key:
        yield from unifiable_dims(source.value, target.value, place)
    elif source != target:
        raise InvalidModel(f"the type must be {target}; got {source}", location=place)


def unifiable_tensor_dims(
    source: AnyTensorType, target: AnyTensorType, place: str
) -> Iterator[tuple[Dim, Dim]]:
    if source.dtype is not target.dtype:
        what = f"the element type must be {target.dtype.text}; got {source.dtype.text}"
        raise InvalidModel(f"{what}; put a Cast between the models", location=place)
    if source.shape is None or target.shape is None:
        return
    if len(source.shape) != len(target.shape):
        what = f"the rank must be {len(target.shape)} ({target}); got {len(source.shape)} ({source})"
        raise InvalidModel(what, location=place)
    yield from zip(source.shape, target.shape, strict=True)
