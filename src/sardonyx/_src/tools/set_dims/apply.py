"""`set_dims`: set dims on a copy of a model."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from sardonyx._src.dataclass import dataclass
from sardonyx._src.errors import InferenceError
from sardonyx._src.infer.walk import infer_partially
from sardonyx._src.ir import Model, TensorType, Type
from sardonyx._src.ir.dims import Dim, Expr
from sardonyx._src.ir.model import Note, clone
from sardonyx._src.tools.calls import main_graphs
from sardonyx._src.tools.set_dims.driver import repair
from sardonyx._src.tools.set_dims.probe import all_values
from sardonyx._src.tools.set_dims.requests import AxisChange, DimRequests, Size
from sardonyx._src.tools.symbols import dim_names, substitute


def set_dims(
    model: Model,
    *,
    dims: Mapping[str, int] | None = None,
    inputs: Mapping[str, Sequence[Size]] | None = None,
    free: Mapping[tuple[str, int], str] | None = None,
) -> Model:
    """Return a copy of the model with other dims.

    dims: the length of dimension variables, by name.
    inputs: the shape of inputs, of numbers and variable names, by input.
    free: the name of the variable that a size becomes, by input and axis.

    Declared inner types that depend on a changed length are inferred again, and dropped if inference does not determine them.
    Constants that hold a changed length are repaired.  Some operators identify such constants: the shape of Reshape by the
    stride of the axis, sizes of Resize and Expand, constant operands of Concat, initial states of recurrent layers.
    Constants of ConstantOfShape, Tile, Slice and Split are repaired only if the model is inconsistent otherwise.  `notes`
    lists repairs and unresolved questions.

    A declaration of an output or of an inner value that contradicts its operator is replaced too, and named in the notes.

    Raises InputError for names that the model lacks and for conflicting lengths; InferenceError, with the location, if
    the model is invalid with the new dims.
    """
    settings = DimSettings(dims or {}, inputs or {}, free or {})
    try:
        return apply_settings(model, settings, guess=False)
    except InferenceError:
        return apply_settings(model, settings, guess=True)


@dataclass(frozen=True, slots=True)
class DimSettings:
    """The arguments of `set_dims`."""

    dims: Mapping[str, int]
    inputs: Mapping[str, Sequence[Size]]
    free: Mapping[tuple[str, int], str]


def apply_settings(model: Model, settings: DimSettings, *, guess: bool) -> Model:
    """The model with other dims; `guess`: whether to try candidate repairs that no rule identifies.

    Candidate repairs are always tried for the new size 1, since broadcasting would hide contradictions with the old size.
    """
    result = clone(model)
    requests = DimRequests(result)
    requests.fix(settings.dims)
    requests.reshape(settings.inputs)
    requests.free(settings.free)
    substitute(main_graphs(result), requests.mapping)
    unresolved: list[Note] = []
    for group in group_changes(requests.changes):
        unresolved += repair(result, group, guess=guess or group[0].new == 1)
    try:
        declare_inferred(result, false_declarations(model))
    except InferenceError as error:
        raise with_likely_cause(error, unresolved) from None
    result.notes += unresolved
    return result


def with_likely_cause(error: InferenceError, unresolved: Sequence[Note]) -> InferenceError:
    """The error with the first unresolved question added, which may be its cause."""
    why = f"{error.why} (before: {unresolved[0]})" if unresolved else error.why
    return InferenceError(why, location=error.location)


def group_changes(changes: Sequence[AxisChange]) -> list[list[AxisChange]]:
    """The changes grouped by old and new size; each group is applied together."""
    groups: dict[tuple[int, Dim], list[AxisChange]] = {}
    for change in changes:
        groups.setdefault((change.old, change.new), []).append(change)
    return list(groups.values())


def false_declarations(model: Model) -> set[str]:
    """The locations of values whose declared types contradict the types that their operators yield."""
    errors = infer_partially(clone(model)).errors
    return {error.location for error in errors if error.about == "declaration"}


def declare_inferred(model: Model, false: Collection[str]) -> None:
    """Check the declared types by inference, and replace them by the inferred ones; those at the locations `false` may be wrong."""
    inference = infer_partially(clone(model))
    for error in inference.errors:
        if error.about != "declaration" or error.location not in false:
            raise error
        model.notes.append(Note(error.location, f"{error.why}; the inferred type replaces it"))
    known = dim_names(main_graphs(model))
    borders = {*model.graph.inputs, *model.graph.outputs}
    for value, twin in zip(all_values(model), all_values(inference.model), strict=True):
        if value.type is not None or value in borders:
            value.type = keep_declared_symbols(twin.type, value.type, known)


def keep_declared_symbols(inferred: Type | None, declared: Type | None, known: set[str]) -> Type | None:
    """The inferred type, with the declared dims instead of variables that inference introduced."""
    if not isinstance(inferred, TensorType) or inferred.shape is None:
        return inferred
    declared_shape = declared.shape if isinstance(declared, TensorType) else None
    shape = tuple(
        (declared_shape[i] if declared_shape is not None else None)
        if isinstance(dim, Expr) and not dim.symbols() <= known
        else dim
        for i, dim in enumerate(inferred.shape)
    )
    return replace(inferred, shape=shape)
