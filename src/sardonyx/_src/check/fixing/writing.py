"""Writing a fixed document together with the external data files that it names."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import cast

from sardonyx._src.check.analysis.external_data import location_of
from sardonyx._src.check.records.tensors import is_external
from sardonyx._src.errors import ExternalDataError
from sardonyx._src.io.external import Policy, components
from sardonyx._src.io.external.opening import open_data
from sardonyx._src.io.saving.save import data_file_components, encode_as, format_of, write_blocks
from sardonyx._src.io.saving.staging import StagedFile, Staging
from sardonyx._src.proto.messages import TensorProto
from sardonyx._src.proto.record import Record

COPY_BLOCK_BYTES = 1 << 20


def write_document(
    record: Record, target: Path, source: Path | None, policy: Policy | str = Policy.HUB
) -> list[str]:
    """Writes a document in the format that the target's suffix selects; returns the data files that were copied.

    If the target is in another directory than `source`, the document's original file, data files are copied to the
    same paths relative to the target, except those that are missing or refused by `policy`.  No file is replaced
    before all are complete.

    Raises ExternalDataError if a data file would replace the target, FileExistsError if another file exists at the
    path of a data file, OSError for failures of the system, ValueError for a suffix of a format that is not written.
    """
    file_format = format_of(str(target), None)
    folder = target.parent
    copied_files: list[str] = []
    with Staging(str(folder)) as staging:
        if source is not None and not os.path.samefile(source.parent, folder):
            for location in locations(record):
                data_file_components(location, target.name)
                if copy_data_file(location, source, folder, Policy(policy), staging):
                    copied_files.append(location)
        with staging.create([target.name]) as file:
            write_blocks(file, encode_as(record, file_format))
        staging.commit()
    return copied_files


def locations(record: Record) -> list[str]:
    """The distinct plain locations of external data in a document, in document order."""
    paths = (location_of(tensor) for tensor in tensors_in(record) if is_external(tensor))
    return list(dict.fromkeys("/".join(components(path, "")) for path in paths if path))


def tensors_in(record: Record) -> Iterator[TensorProto]:
    stack = [record]
    while stack:
        current = stack.pop()
        if isinstance(current, TensorProto):
            yield current
        inner: list[Record] = []
        for field, value in current.present():
            if field.message is not None:
                inner += cast("list[Record]", value if field.repeated else [value])
        stack += reversed(inner)


def copy_data_file(location: str, source: Path, folder: Path, policy: Policy, staging: Staging) -> bool:
    """Copies a data file next to the target; False if that was not necessary or not possible."""
    try:
        fd, _ = open_data(os.path.join(os.getcwd(), source), location, policy, "")
    except ExternalDataError:  # the checker reports it
        return False
    destination = folder.joinpath(*location.split("/"))
    with os.fdopen(fd, "rb") as data:
        if destination.exists():
            if not has_same_bytes(data.fileno(), destination):
                raise FileExistsError(
                    errno.EEXIST, "another file exists at the path of the data file", str(destination)
                )
            return False
        with staging.create(location.split("/")) as file:
            copy_bytes(data.fileno(), file)
    return True


def copy_bytes(fd: int, file: StagedFile) -> None:
    while block := os.read(fd, COPY_BLOCK_BYTES):
        file.write(block)


def has_same_bytes(fd: int, destination: Path) -> bool:
    """Whether a file has the same bytes as the rest of a descriptor."""
    with destination.open("rb") as other:
        while True:
            block = os.read(fd, COPY_BLOCK_BYTES)
            if block != other.read(len(block) or 1):
                return False
            if not block:
                return True
