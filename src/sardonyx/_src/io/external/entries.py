"""Validation of `external_data` entries: keys, numbers and locations.

Spec: onnx.proto, TensorProto.external_data.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

from sardonyx._src.dataclass import dataclass
from sardonyx._src.errors import ExternalDataError

ENTRY_KEYS = ("location", "offset", "length", "checksum", "basepath")
DECIMAL_PATTERN = re.compile("[0-9]{1,19}")
DRIVE_PATTERN = re.compile("[A-Za-z]:")
MAX_OFFSET = (1 << 63) - 1  # largest file offset
WINDOWS = os.name == "nt"
WINDOWS_DEVICES = {"con", "prn", "aux", "nul", "conin$", "conout$"} | {
    f"{d}{n}" for d in ("com", "lpt") for n in range(10)
}


@dataclass(frozen=True, slots=True)
class Reference:
    """The parsed entries of a tensor; `extra` has the entries with keys that the specification does not define."""

    location: str
    offset: int
    length: int | None
    checksum: str
    basepath: str
    extra: tuple[tuple[str, str], ...]


def read_entries(entries: Sequence[tuple[str, str]], where: str) -> Reference:
    """The parsed entries.

    Raises ExternalDataError for a duplicate key, a missing or empty location, and an offset or length that is not a
    decimal number from 0 to 2^63 - 1.  Unknown keys are data: they are never used as attribute names.
    """
    known: dict[str, str] = {}
    extra: dict[str, str] = {}
    for key, value in entries:
        if key in known or key in extra:
            raise ExternalDataError(
                f"keys of external_data must be unique; got {brief(key)} twice; remove one", location=where
            )
        (known if key in ENTRY_KEYS else extra)[key] = value
    if not known.get("location"):
        raise ExternalDataError(
            "external_data must have a location; got none; name the file that contains the data",
            location=where,
        )
    return Reference(
        location=known["location"],
        offset=parse_number("offset", known.get("offset", "0"), where),
        length=parse_number("length", known["length"], where) if "length" in known else None,
        checksum=known.get("checksum", ""),
        basepath=known.get("basepath", ""),
        extra=tuple(extra.items()),
    )


def parse_number(key: str, text: str, where: str) -> int:
    # int() also accepts signs, blanks, underscores and non-ASCII digits, and is slow for thousands of digits.
    value = int(text) if DECIMAL_PATTERN.fullmatch(text) else MAX_OFFSET + 1
    if value > MAX_OFFSET:
        what = f"{key} of external_data must be a decimal number from 0 to 2^63 - 1; got {brief(text)}"
        raise ExternalDataError(what, location=where)
    return value


def components(location: str, where: str) -> tuple[str, ...]:
    """The path components of `location`, relative to the model's directory, without `.` and empty components.

    Raises ExternalDataError for a location that is absolute, contains `..` (even if it stays inside the directory),
    ends in `/`, or is interpreted differently on another system: with a backslash, a drive or a NUL.
    """
    why = ambiguity_of(location)
    if why is None and location.startswith("/"):
        why = "is absolute"
    names = tuple(name for name in location.split("/") if name not in ("", "."))
    if why is None and names and DRIVE_PATTERN.match(names[0]):
        why = "starts with a drive"
    if why is None and ".." in names:
        why = "contains '..'"
    if why is None and (not names or location.endswith(("/", "/."))):
        why = "names a directory"
    if why is None and WINDOWS:
        why = next(filter(None, map(windows_ambiguity_of, names)), None)
    if why is not None:
        what = "a location must be a relative path of plain names separated by '/'"
        raise ExternalDataError(f"{what}; got {brief(location)}, which {why}", location=where)
    return names


def ambiguity_of(location: str) -> str | None:
    """Why another system, or a system call, would interpret a location differently; None if none would."""
    if not location:
        return "is empty"
    if "\0" in location:
        return "has a NUL character"
    if "\\" in location:
        return "has a backslash"
    try:
        os.fsencode(location)
    except UnicodeEncodeError:
        return "cannot be encoded as a file name"
    return None


def windows_ambiguity_of(name: str) -> str | None:
    """Why Windows would not interpret a component as the name of a file; None if it would."""
    if ":" in name:
        return "names a stream"
    if name.endswith((".", " ")):
        return "has a name that ends in a dot or blank, which Windows removes"
    if name.split(".")[0].rstrip().lower() in WINDOWS_DEVICES:
        return "names a device"
    return None


def brief(text: str) -> str:
    return repr(text if len(text) <= 200 else f"{text[:200]}...")
