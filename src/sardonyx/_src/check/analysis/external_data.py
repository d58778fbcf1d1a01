"""External data of tensors: entries, the state of the files, and the byte ranges that tensors occupy."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from sardonyx._src.check.analysis.reads import bodies_of
from sardonyx._src.check.engine.document import ByteRange, DataFileState, Document
from sardonyx._src.check.records.tensors import MAX_INT64, bytes_of, is_external
from sardonyx._src.errors import ExternalDataError
from sardonyx._src.io.external.opening import Policy, open_data
from sardonyx._src.proto import messages as m
from sardonyx._src.proto.messages import TensorProto

NUMBER_KEYS = ("offset", "length")
EXTERNAL_DATA_KEYS = ("location", "offset", "length", "checksum", "basepath")
URL_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")


def entry_value(tensor: TensorProto, key: str) -> str | None:
    """The value of the first entry with a key."""
    return next((entry.value for entry in tensor.external_data if entry.key == key), None)


def parse_number(text: str | None) -> int | None:
    """The value of a decimal number up to 2^63 - 1, else None."""
    if text is None or not (text.isascii() and text.isdigit()) or len(text) > 19 or int(text) > MAX_INT64:
        return None
    return int(text)


def location_of(tensor: TensorProto) -> str | None:
    """The location if it is a plain relative path, which is safe to open; else None."""
    location = entry_value(tensor, "location")
    return (
        location if location and not location_problem(location) and not leaves_directory(location) else None
    )


def location_problem(location: str) -> str:
    """Why a location is not a portable path relative to the model's directory; "" if it is."""
    if location.startswith("/"):
        return "is absolute"
    if URL_SCHEME.match(location):
        return "is a URL"
    if location[1:2] == ":" and location[:1].isalpha():
        return "starts with a drive"
    if "\\" in location:
        return "has a backslash"
    if "\0" in location:
        return "has a NUL character"
    try:
        os.fsencode(location)
    except UnicodeEncodeError:
        return "cannot be the name of a file"
    return ""


def leaves_directory(location: str) -> bool:
    """Whether a component of the location is `..`."""
    return ".." in location.replace("\\", "/").split("/")


def data_file_state(document: Document, location: str) -> DataFileState | None:
    """The state of the file at a plain location (memoized); None for a document without a file."""
    if document.path is None:
        return None
    state = document.files.get(location)
    if state is None:
        state = document.files[location] = open_data_file(document, document.path, location)
    return state


def canonical_location(location: str) -> str:
    """A plain location without `.` and empty components; equal for locations that name one file."""
    return "/".join(part for part in location.split("/") if part not in ("", "."))


def open_data_file(document: Document, path: Path, location: str) -> DataFileState:
    model = os.path.join(os.getcwd(), path)
    plain = canonical_location(location)
    if not plain or location.endswith("/"):
        return DataFileState(0, f"{location!r} names a directory")
    try:
        fd, size = open_data(model, plain, document.policy, "")
    except ExternalDataError as error:
        return DataFileState(0, error.why, is_linked(os.path.dirname(model), plain))
    os.close(fd)
    if (
        document.policy is Policy.HUB
        and is_linked(os.path.dirname(model), plain)
        and not os.path.islink(model)
    ):
        return DataFileState(size, is_linked=True)
    return DataFileState(size)


def is_linked(folder: str, plain: str) -> bool:
    """Whether the path to an existing file contains a link, or the file has several hard links."""
    path = folder
    for part in plain.split("/"):
        path = os.path.join(path, part)
        if os.path.islink(path):
            return os.path.exists(path)
    return os.path.isfile(path) and os.stat(path).st_nlink > 1


def file_checksum(document: Document, location: str) -> str:
    """The SHA1 of a file whose state is valid (memoized)."""
    if location not in document.checksums:
        document.checksums[location] = sha1_of(document, location)
    return document.checksums[location]


def sha1_of(document: Document, location: str) -> str:
    import hashlib  # lazy: few models state checksums

    assert document.path is not None, "the file has a state"
    digest = hashlib.sha1(usedforsecurity=False)
    fd, _ = open_data(os.path.join(os.getcwd(), document.path), location, document.policy, "")
    with os.fdopen(fd, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def byte_range_of(tensor: m.TensorProto) -> ByteRange | None:
    """The byte range of a tensor's data; None for tensors without external data or with invalid entries."""
    size = bytes_of(tensor) if is_external(tensor) and location_of(tensor) is not None else None
    offset = entry_value(tensor, "offset")
    start = 0 if offset is None else parse_number(offset)
    return ByteRange(start, start + size) if size and start is not None else None


def byte_ranges_of(document: Document, location: str) -> Sequence[ByteRange]:
    """The distinct byte ranges of a file that the model's tensors occupy, by start, the longest first."""
    if document.byte_ranges is None:
        by_file: dict[str, set[ByteRange]] = {}
        for tensor in tensors_of_model(document.model) if document.model is not None else ():
            byte_range = byte_range_of(tensor)
            if byte_range is not None:
                location_key = canonical_location(entry_value(tensor, "location") or "")
                by_file.setdefault(location_key, set()).add(byte_range)
        document.byte_ranges = {
            name: sorted(ranges, key=lambda r: (r.start, -r.end)) for name, ranges in by_file.items()
        }
    return document.byte_ranges.get(canonical_location(location), ())


def tensors_of_model(model: m.ModelProto) -> Iterator[m.TensorProto]:
    """The initializers and tensor attributes of all graphs and functions, including parts of sparse tensors."""
    for _, body in bodies_of(model):
        sparse: list[m.SparseTensorProto] = []
        if isinstance(body, m.GraphProto):
            yield from body.initializer
            sparse += body.sparse_initializer
        for node in body.node:
            for attribute in node.__dict__.get("attribute") or ():
                if attribute.t is not None:
                    yield attribute.t
                yield from attribute.tensors
                sparse += (
                    [attribute.sparse_tensor]
                    if attribute.sparse_tensor is not None
                    else attribute.sparse_tensors
                )
        for sparse_tensor in sparse:
            yield from (part for part in (sparse_tensor.values, sparse_tensor.indices) if part is not None)


def overlaps_of(document: Document, location: str) -> Mapping[ByteRange, ByteRange]:
    """The byte ranges of a file that overlap an earlier one, each with the earlier range that ends last.

    Of ranges with the same start, the longest one is the earliest.
    """
    key = canonical_location(location)
    if key not in document.overlaps:
        overlaps: dict[ByteRange, ByteRange] = {}
        last: ByteRange | None = None
        for byte_range in byte_ranges_of(document, location):
            if last is not None and last.end > byte_range.start:
                overlaps[byte_range] = last
            if last is None or byte_range.end > last.end:
                last = byte_range
        document.overlaps[key] = overlaps
    return document.overlaps[key]


def count_unclaimed_bytes(ranges: Sequence[ByteRange], size: int) -> int:
    """The number of bytes of a file that no range covers, except padding before aligned ranges and at the end."""
    count = end = 0
    for start in (*(r.start for r in ranges), size):
        gap = start - end
        count += gap if gap >= start & -start else 0
        end = max([end, *(r.end for r in ranges if r.start == start)])
    return count
