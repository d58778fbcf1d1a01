"""Metadata: the strings by which tools annotate parts of a model."""

from __future__ import annotations

from typing import TypeAlias

Metadata: TypeAlias = dict[str, str]


class WithMetadata:
    """An object with metadata; the map is created at first use, since most objects have none."""

    __slots__ = ("_metadata",)
    _metadata: Metadata | None

    @property
    def metadata(self) -> Metadata:
        if self._metadata is None:
            self._metadata = {}
        return self._metadata

    @property
    def has_metadata(self) -> bool:
        return bool(self._metadata)
