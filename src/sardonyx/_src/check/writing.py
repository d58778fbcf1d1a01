"""Writing a mended document, and carrying along the data files that it names."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import cast

from sardonyx._src.check.external import location_of
from sardonyx._src.check.tensors import is_external
from sardonyx._src.errors import ExternalDataError
from sardonyx._src.io.external import Policy, components
from sardonyx._src.io.external.opening import open_data
from sardonyx._src.io.save import data_names, encoded, format_of, write_blocks
from sardonyx._src.io.staging import Staged, Staging
from sardonyx._src.proto.messages import TensorProto
from sardonyx._src.proto.record import Record

BLOCK = 1 << 20  # bytes


def write_document(
    record: Record, target: Path, source: Path | None, policy: Policy | str = Policy.HUB
) -> list[str]:
    """Writes a document, in the format that the target's suffix stands for; returns the data files that came along.

    `source` is the file in which the document stood: data files beside it are copied to the same places beside the
    target, if that lies in another directory.  Those that are missing or refused by `policy` stay away.  All files take
    their places when all are complete.

    Raises ExternalDataError where a data file would take the target's place, FileExistsError where another file has
    the place of a data file, OSError for what the system refuses, ValueError for a suffix of a format that is not
    written.
    """
    form = format_of(str(target), None)
    folder = target.parent
    carried: list[str] = []
    with Staging(str(folder)) as staging:
        if source is not None and not os.path.samefile(source.parent, folder):
            for location in locations(record):
                data_names(location, target.name)
                if carry(location, source, folder, Policy(policy), staging):
                    carried.append(location)
        with staging.create([target.name]) as file:
            write_blocks(file, encoded(record, form))
        staging.commit()
    return carried


def locations(record: Record) -> list[str]:
    """The plain locations of external data in a document, each once, in the order of the document."""
    found = (location_of(tensor) for tensor in tensors_in(record) if is_external(tensor))
    return list(dict.fromkeys("/".join(components(one, "")) for one in found if one))


def tensors_in(record: Record) -> Iterator[TensorProto]:
    stack = [record]
    while stack:
        one = stack.pop()
        if isinstance(one, TensorProto):
            yield one
        inner: list[Record] = []
        for field, value in one.present():
            if field.message is not None:
                inner += cast("list[Record]", value if field.repeated else [value])
        stack += reversed(inner)


def carry(location: str, source: Path, folder: Path, policy: Policy, staging: Staging) -> bool:
    """Copies a data file beside the target; whether it had to be."""
    try:
        fd, _ = open_data(os.path.join(os.getcwd(), source), location, policy, "")
    except ExternalDataError:  # the checker has said so
        return False
    place = folder.joinpath(*location.split("/"))
    with os.fdopen(fd, "rb") as data:
        if place.exists():
            if not is_same(data.fileno(), place):
                raise FileExistsError(errno.EEXIST, "another file stands where the data would go", str(place))
            return False
        with staging.create(location.split("/")) as file:
            copy(data.fileno(), file)
    return True


def copy(fd: int, file: Staged) -> None:
    while block := os.read(fd, BLOCK):
        file.write(block)


def is_same(fd: int, place: Path) -> bool:
    """Whether a file holds the bytes that are left to read from a descriptor."""
    with place.open("rb") as other:
        while True:
            block = os.read(fd, BLOCK)
            if block != other.read(len(block) or 1):
                return False
            if not block:
                return True
