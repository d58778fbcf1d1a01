"""Files that hold code and data: relocatable objects, archives and shared libraries."""

from __future__ import annotations

from typing import Literal, TypeAlias

Emit: TypeAlias = Literal["object", "static", "shared"]
EMITS: tuple[Emit, ...] = ("object", "static", "shared")
