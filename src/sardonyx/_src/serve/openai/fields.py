"""The fields of a request's JSON, each of the type that the interface says."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import TypeVar

from sardonyx._src.arguments import shown
from sardonyx._src.serve.openai.failures import UNSUPPORTED, ParameterFailure
from sardonyx._src.suggestions import suggest

T = TypeVar("T")


class Fields:
    """The fields of a JSON object; `null` counts as absent.  Methods raise ParameterFailure for values of other types.

    path: where the object is in the request, as "messages[0]."; "" for the request itself.
    """

    def __init__(self, values: Mapping[str, object], path: str = "") -> None:
        self.values, self.path = values, path

    def get(self, name: str) -> object:
        return self.values.get(name)

    def failure(self, name: str, expected: str) -> ParameterFailure:
        """The failure of a field that is not what is expected."""
        param = self.path + name
        return ParameterFailure(param, f"{param} must be {expected}; got {shown(self.get(name))}")

    def refuse_others(self, known: Collection[str]) -> None:
        """Raises ParameterFailure for a field that is not known."""
        for name in self.values:
            if name not in known:
                why = f"there is no parameter {self.path + name!r}{suggest(name, known, 'parameters')}"
                raise ParameterFailure(self.path + name, why, code="unknown_parameter")

    def refuse_unless(self, name: str, *values: object) -> None:
        """Raises ParameterFailure for a field with a value that is not supported."""
        value = self.get(name)
        if value is not None and value not in values:
            supported = " or ".join(map(repr, values)) or "absent"
            why = f"{self.path + name} must be {supported} for this service; got {shown(value)}"
            raise ParameterFailure(self.path + name, why, code=UNSUPPORTED)

    def text(self, name: str) -> str | None:
        return self._typed(name, str, "a text")

    def flag(self, name: str) -> bool | None:
        return self._typed(name, bool, "true or false")

    def items(self, name: str) -> list[object] | None:
        return self._typed(name, list, "a list")

    def child(self, name: str) -> Fields | None:
        value: Mapping[str, object] | None = self._typed(name, dict, "an object")
        return None if value is None else Fields(value, f"{self.path}{name}.")

    def children(self, name: str) -> list[Fields]:
        """The objects of a list; [] without it."""
        fields = []
        for number, value in enumerate(self.items(name) or ()):
            if not isinstance(value, dict):
                param = f"{self.path}{name}[{number}]"
                raise ParameterFailure(param, f"{param} must be an object; got {shown(value)}")
            fields.append(Fields(value, f"{self.path}{name}[{number}]."))
        return fields

    def number(self, name: str, least: float, most: float) -> float | None:
        value = self.get(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
            raise self.failure(name, f"a number from {least:g} to {most:g}")
        return float(value)

    def integer(self, name: str, least: int, most: float = math.inf) -> int | None:
        value = self.get(name)
        if value is None:
            return None
        if type(value) is not int or not least <= value <= most:
            limit = f"from {least} to {most}" if most < math.inf else f">= {least}"
            raise self.failure(name, f"an integer {limit}")
        return value

    def _typed(self, name: str, kind: type[T], expected: str) -> T | None:
        value = self.get(name)
        if value is None or isinstance(value, kind):
            return value
        raise self.failure(name, expected)
