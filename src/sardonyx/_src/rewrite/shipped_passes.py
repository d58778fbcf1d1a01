"""The names of the passes of this package, which are those of the files in `passes`."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from sardonyx._src.ops.index import module_names

PASSES_FOLDER = Path(__file__).parent / "passes"


@cache
def shipped_names() -> tuple[str, ...]:
    """The names of the passes of this package, sorted."""
    return tuple(sorted(module.replace("_", "-") for module in module_names(PASSES_FOLDER)))
