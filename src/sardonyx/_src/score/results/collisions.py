"""Checks that no output of a job replaces, or adds to, the files that the job reads."""

from __future__ import annotations

import os
from itertools import product

from sardonyx._src.errors import InputError
from sardonyx._src.tables.formats import STANDARD_STREAM
from sardonyx._src.tables.places import FilePlace

PathLike = str | os.PathLike[str]


def refuse_collisions(source: object, sink: PathLike | None, rejects: PathLike | None) -> None:
    """Raises InputError for an output that is a file of the source or lies in one of its folders, and for equal outputs."""
    listed = source if isinstance(source, list | tuple) else [source]
    sources = [place for path in listed if (place := place_of(path)) is not None]
    outputs = [
        (name, place) for name, path in (("sink", sink), ("rejects", rejects)) if (place := place_of(path))
    ]
    for (name, place), read in product(outputs, sources):
        if is_within(place, read):
            what = "a file of the source" if place.path == read.path else "in a folder of the source"
            raise InputError(f"the {name} must not be {what}; got {place.path!r}: write elsewhere", name=name)
    if len(outputs) == 2 and is_within(outputs[1][1], outputs[0][1]):
        raise InputError(
            f"the sink and the rejects must be apart; got {outputs[1][1].path!r}", name="rejects"
        )


def place_of(path: object) -> FilePlace | None:
    """The file of a path or an address, with links resolved; None for a standard stream, and for other sources."""
    if not isinstance(path, str | os.PathLike) or os.fspath(path) == STANDARD_STREAM:
        return None
    try:
        place = FilePlace.of(path)
        return FilePlace(place.filesystem, os.path.realpath(place.path)) if place.is_local else place
    except (OSError, ValueError):  # reading or writing it will report the error
        return None


def is_within(place: FilePlace, other: FilePlace) -> bool:
    """Whether a file or folder is another one, or lies below it."""
    path, folder = place.path.rstrip("/"), other.path.rstrip("/")
    return place.filesystem.equals(other.filesystem) and (path == folder or path.startswith(folder + "/"))
