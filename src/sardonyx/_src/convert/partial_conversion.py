"""`convert_partially`: convert what another version can express, and list the rest."""

from __future__ import annotations

from collections.abc import Mapping

from sardonyx._src.convert.conversion import convert_model
from sardonyx._src.dataclass import dataclass
from sardonyx._src.errors import ConversionError
from sardonyx._src.io.loading.load import ModelSource
from sardonyx._src.ir import Model


@dataclass(frozen=True, slots=True)
class PartialConversion:
    """A converted model, with an error for each node or feature that kept its old version; true if there are none."""

    model: Model
    errors: tuple[ConversionError, ...]

    @property
    def ok(self) -> bool:
        return not self.errors

    def __bool__(self) -> bool:
        return self.ok


def convert_partially(
    model: ModelSource,
    opset: int | None = None,
    *,
    sets: Mapping[str, int] | None = None,
    ir_version: int | str | None = None,
) -> PartialConversion:
    """Converts a copy of the model like `sx.convert`, but keeps what the target versions cannot express.

    Such a node is outlined into a function that imports its old version; an IR version that is too low is raised as far
    as necessary.  The result has an error for each.  Raises ConversionError for a model that imports an unknown version,
    InputError for an unknown target version or a domain that is not imported, LimitError for graphs nested too deep.
    """
    errors: list[ConversionError] = []
    return PartialConversion(convert_model(model, opset, sets, ir_version, errors), tuple(errors))
