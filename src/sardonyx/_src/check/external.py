"""External data as a checker looks at them: the entries, and the state of the file that they name."""

from __future__ import annotations

import os
import re
from pathlib import Path

from sardonyx._src.check.context import DataFile, Document
from sardonyx._src.errors import ExternalDataError
from sardonyx._src.io.external.opening import Policy, open_data
from sardonyx._src.proto.messages import TensorProto

NUMBER_KEYS = ("offset", "length")
KEYS = ("location", "offset", "length", "checksum", "basepath")
LARGEST = (1 << 63) - 1
SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")


def entry(tensor: TensorProto, key: str) -> str | None:
    """The value of the first entry with the key."""
    return next((one.value for one in tensor.external_data if one.key == key), None)


def number(text: str | None) -> int | None:
    """The number that a string of decimal digits means, up to 2^63 - 1."""
    if text is None or not (text.isascii() and text.isdigit()) or len(text) > 19 or int(text) > LARGEST:
        return None
    return int(text)


def location_of(tensor: TensorProto) -> str | None:
    """The location where it is a plain relative one, which may be looked at."""
    location = entry(tensor, "location")
    return location if location and not flaw(location) and not leaves(location) else None


def flaw(location: str) -> str:
    """Why a location is not relative to the model's directory, or reads differently elsewhere; "" where it is fine."""
    if location.startswith("/"):
        return "is absolute"
    if SCHEME.match(location):
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


def leaves(location: str) -> bool:
    """Whether one of its components is `..`."""
    return ".." in location.replace("\\", "/").split("/")


def data_file(document: Document, location: str) -> DataFile | None:
    """The state of the file at a plain location, looked at once; None for a document that stands in no file."""
    if document.path is None:
        return None
    found = document.files.get(location)
    if found is None:
        found = document.files[location] = opened(document, document.path, location)
    return found


def opened(document: Document, path: Path, location: str) -> DataFile:
    model = os.path.join(os.getcwd(), path)
    plain = "/".join(part for part in location.split("/") if part not in ("", "."))
    if not plain or location.endswith("/"):
        return DataFile(0, f"{location!r} names a directory")
    try:
        fd, size = open_data(model, plain, document.policy, "")
    except ExternalDataError as error:
        return DataFile(0, error.why, is_linked(os.path.dirname(model), plain))
    os.close(fd)
    if (
        document.policy is Policy.HUB
        and is_linked(os.path.dirname(model), plain)
        and not os.path.islink(model)
    ):
        return DataFile(size, f"{location!r} is reached by a link", True)
    return DataFile(size)


def is_linked(folder: str, plain: str) -> bool:
    """Whether a link is on the way to an existing file, or the file has a second name."""
    path = folder
    for part in plain.split("/"):
        path = os.path.join(path, part)
        if os.path.islink(path):
            return os.path.exists(path)
    return os.path.isfile(path) and os.stat(path).st_nlink > 1


def checksum(document: Document, location: str) -> str:
    """The SHA1 of a file that `data_file` found to be in order, read once."""
    if location not in document.checksums:
        document.checksums[location] = sha1_of(document, location)
    return document.checksums[location]


def sha1_of(document: Document, location: str) -> str:
    import hashlib  # few models state checksums

    assert document.path is not None, "data_file has looked at it"
    digest = hashlib.sha1(usedforsecurity=False)
    fd, _ = open_data(os.path.join(os.getcwd(), document.path), location, document.policy, "")
    with os.fdopen(fd, "rb") as file:
        while piece := file.read(1 << 20):
            digest.update(piece)
    return digest.hexdigest()
