"""Files of the libraries that a machine compiles for itself, in the cache folder."""

from __future__ import annotations

from pathlib import Path

from sardonyx._src.compile.llvm.kernel_library import cached_path


def marker_of(name: str) -> Path | None:
    """The file that exists while a process compiles the library of a class for these sources."""
    path = cached_path(name)
    return None if path is None else path.with_suffix(".building")


def library_files(folder: Path, name: str) -> list[Path]:
    """The libraries of a class for any sources, and the markers of those that are compiled."""
    return [path for path in folder.glob(f"{name}-{'[0-9a-f]' * 16}.*") if path.suffix != ".tmp"]
