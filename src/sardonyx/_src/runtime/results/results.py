"""The results of a run: the selection of outputs, checks against declarations, and copies of arrays that are not the caller's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

import numpy as np

from sardonyx._src.arguments import texts_of
from sardonyx._src.errors import OutputError
from sardonyx._src.ops.run_values import RuntimeValue
from sardonyx._src.runtime.declarations.declared_dims import DeclaredDims
from sardonyx._src.runtime.declarations.declared_sizes import Declaration
from sardonyx._src.runtime.results.result_types import describe_value, matches_type
from sardonyx._src.suggestions import suggest


def select_outputs(names: Sequence[str] | None, declarations: Mapping[str, Declaration]) -> list[str]:
    """The outputs that a caller names, or all; raises OutputError for a name that the model does not have."""
    names = None if names is None else texts_of("outputs", names)
    for name in names or ():
        if name not in declarations:
            hint = suggest(name, declarations, "outputs")
            raise OutputError(f"the model has no output {name!r}{hint}", name=name)
    return list(declarations if names is None else names)


def check_results(
    results: Mapping[str, RuntimeValue], declarations: Mapping[str, Declaration], dims: DeclaredDims
) -> None:
    """Checks kind, element type and sizes of each result; raises OutputError for another kind or element type than declared."""
    for name, declaration in declarations.items():
        result, declared = results[name], declaration.value.type
        if not matches_type(result, declared):
            what = f"output {name!r} must be {declared}; got {describe_value(result)}"
            raise OutputError(what, name=name)
        if declaration.sizes is not None:
            dims.check_result(result, declaration.sizes, declaration.location)


def copy_if_read_only(value: RuntimeValue) -> RuntimeValue:
    """The value, with a copy of each read-only array (a feed, a weight or a view of one): outputs belong to the caller."""
    match value:
        case np.ndarray():
            return value if value.flags.writeable else value.copy()
        case list():
            return [copy_if_read_only(element) for element in value]
        case dict():
            return cast(RuntimeValue, {key: copy_if_read_only(element) for key, element in value.items()})
    return value
