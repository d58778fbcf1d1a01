"""The results of a prepared model: a tuple that can also be indexed by output names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, SupportsIndex, overload

from sardonyx._src.arguments import items_of, require_integer, texts_of
from sardonyx._src.errors import OutputError
from sardonyx._src.ops.run_values import RunResult, RuntimeValue
from sardonyx._src.suggestions import suggest


class Outputs(tuple[RunResult, ...]):
    """The outputs of a run in the model's order; `outputs["y"]` is the output of that name."""

    names: tuple[str, ...]

    def __new__(cls, names: Sequence[str], values: Iterable[RuntimeValue]) -> Outputs:
        items: tuple[Any, ...] = items_of("values", values, object, "values")
        result = super().__new__(cls, items)
        result.names = texts_of("names", names)
        return result

    def __reduce__(self) -> tuple[object, ...]:
        return Outputs, (self.names, tuple(self))

    @overload
    def __getitem__(self, key: str | SupportsIndex) -> RunResult: ...
    @overload
    def __getitem__(self, key: slice[Any, Any, Any]) -> tuple[RunResult, ...]: ...

    def __getitem__(
        self, key: str | SupportsIndex | slice[Any, Any, Any]
    ) -> RunResult | tuple[RunResult, ...]:
        if not isinstance(key, str):
            if not isinstance(key, slice):
                require_integer("the position of an output", key, -len(self), len(self) - 1)
            return super().__getitem__(key)
        if key not in self.names:
            raise OutputError(
                f"the model has no output {key!r}{suggest(key, self.names, 'outputs')}", name=key
            )
        return super().__getitem__(self.names.index(key))
