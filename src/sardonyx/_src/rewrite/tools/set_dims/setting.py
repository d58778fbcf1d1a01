"""The steps of setting dims, on a copy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sardonyx._src.errors import InferenceError
from sardonyx._src.infer.walk import infer
from sardonyx._src.ir.clone import clone
from sardonyx._src.ir.dims import Dim, Expr
from sardonyx._src.ir.graph import Model, Note
from sardonyx._src.ir.types import TensorType, Type
from sardonyx._src.rewrite.tools.calls import main_graphs
from sardonyx._src.rewrite.tools.set_dims.probe import all_values
from sardonyx._src.rewrite.tools.set_dims.repairing import repair
from sardonyx._src.rewrite.tools.set_dims.requests import Change, Requests, Size
from sardonyx._src.rewrite.tools.symbols import names_in, substitute


def set_dims(
    model: Model,
    *,
    dims: Mapping[str, int] | None = None,
    inputs: Mapping[str, Sequence[Size]] | None = None,
    free: Mapping[tuple[str, int], str] | None = None,
) -> Model:
    """A copy of the model with other sizes.

    dims: variables that become numbers; inputs: shapes, of numbers and names, by input; free: names for axes, by input
    and axis.  Types that are declared further in are inferred anew where they depend on a number that changes, and
    such numbers that inference does not find again are dropped.  Constants that hold a number that changes are
    repaired where what the operators make of them tells which ones these are: the shape of Reshape by the stride
    of the size, sizes of Resize and Expand, constants beside data in Concat, first states of recurrent
    layers; further ones (ConstantOfShape, Tile, Slice, Split) where the model would contradict itself without.
    `notes` lists what was repaired, and what could not be decided.

    Raises InputError for names that the model does not have and for what asks for two sizes at once, InferenceError,
    naming the place, where the model does not hold with the new sizes.
    """
    asked = Asked(dims or {}, inputs or {}, free or {})
    try:
        return attempt(model, asked, guess=False)
    except InferenceError:
        return attempt(model, asked, guess=True)


@dataclass(frozen=True, slots=True)
class Asked:
    """What a caller of `set_dims` asks for."""

    dims: Mapping[str, int]
    inputs: Mapping[str, Sequence[Size]]
    free: Mapping[tuple[str, int], str]


def attempt(model: Model, asked: Asked, *, guess: bool) -> Model:
    """The model with other sizes, for which constants that rules cannot tell are tried or not.

    They are tried anyway where the new size is 1, with which nothing that broadcasts would contradict the old one.
    """
    result = clone(model)
    requests = Requests(result)
    requests.fix(asked.dims)
    requests.reshape(asked.inputs)
    requests.free(asked.free)
    substitute(main_graphs(result), requests.mapping)
    undecided: list[Note] = []
    for group in grouped(requests.changes):
        undecided += repair(result, group, guess=guess or group[0].new == 1)
    try:
        declare(result)
    except InferenceError as error:
        raise explained(error, undecided) from None
    result.notes += undecided
    return result


def explained(error: InferenceError, undecided: Sequence[Note]) -> InferenceError:
    """The error together with the first thing that could not be decided, which may be its cause."""
    why = f"{error.why} (before: {undecided[0]})" if undecided else error.why
    return InferenceError(why, location=error.location)


def grouped(changes: Sequence[Change]) -> list[list[Change]]:
    """Changes of one number to one and the same other size, which are made together."""
    found: dict[tuple[int, Dim], list[Change]] = {}
    for change in changes:
        found.setdefault((change.old, change.new), []).append(change)
    return list(found.values())


def declare(model: Model) -> None:
    """Holds the model against its declarations, and puts what is inferred where something was declared."""
    typed = infer(clone(model))
    known = names_in(main_graphs(model))
    borders = {*model.graph.inputs, *model.graph.outputs}
    for value, twin in zip(all_values(model), all_values(typed), strict=True):
        if value.type is not None or value in borders:
            value.type = without_new_names(twin.type, value.type, known)


def without_new_names(found: Type | None, declared: Type | None, known: set[str]) -> Type | None:
    """The inferred type, with what was declared in the place of variables that inference has made up."""
    if not isinstance(found, TensorType) or found.shape is None:
        return found
    own = declared.shape if isinstance(declared, TensorType) else None
    shape = tuple(
        (own[i] if own is not None else None) if isinstance(dim, Expr) and not dim.symbols() <= known else dim
        for i, dim in enumerate(found.shape)
    )
    return replace(found, shape=shape)
