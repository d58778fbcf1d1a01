"""The entries of `external_data`: which keys count, which numbers, and which locations a model may name.

Spec: onnx.proto, TensorProto.external_data.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass

from sardonyx._src.errors import ExternalDataError

KEYS = ("location", "offset", "length", "checksum", "basepath")
NUMBER = re.compile("[0-9]{1,19}")
DRIVE = re.compile("[A-Za-z]:")
LARGEST = (1 << 63) - 1  # what an offset in a file can be
WINDOWS = os.name == "nt"
DEVICES = {"con", "prn", "aux", "nul", "conin$", "conout$"} | {
    f"{d}{n}" for d in ("com", "lpt") for n in range(10)
}


@dataclass(frozen=True, slots=True)
class Reference:
    """What the entries of a tensor say; `extra` holds those whose keys the specification lacks."""

    location: str
    offset: int
    length: int | None
    checksum: str
    basepath: str
    extra: tuple[tuple[str, str], ...]


def read_entries(entries: Sequence[tuple[str, str]], where: str) -> Reference:
    """The entries by key.

    Raises ExternalDataError for a key that occurs twice, a location that is missing or empty, and an offset or
    length that is not a decimal number from 0 to 2^63 - 1.  Entries name no attributes: unknown keys stay text.
    """
    known: dict[str, str] = {}
    extra: dict[str, str] = {}
    for key, value in entries:
        if key in known or key in extra:
            raise ExternalDataError(f"external_data has the key {brief(key)} twice; keep one", location=where)
        (known if key in KEYS else extra)[key] = value
    if not known.get("location"):
        raise ExternalDataError(
            "external_data has no location; name the file that holds the data", location=where
        )
    return Reference(
        location=known["location"],
        offset=number("offset", known.get("offset", "0"), where),
        length=number("length", known["length"], where) if "length" in known else None,
        checksum=known.get("checksum", ""),
        basepath=known.get("basepath", ""),
        extra=tuple(extra.items()),
    )


def number(key: str, text: str, where: str) -> int:
    # int() alone takes signs, blanks, underscores and digits of other scripts, and thousands of digits slowly.
    value = int(text) if NUMBER.fullmatch(text) else LARGEST + 1
    if value > LARGEST:
        what = f"{key} of external_data is {brief(text)}, which should be a decimal number from 0 to 2^63 - 1"
        raise ExternalDataError(what, location=where)
    return value


def components(location: str, where: str) -> tuple[str, ...]:
    """The names that lead from the model's directory to the file at `location`, without `.` and empty ones.

    Raises ExternalDataError for a location that is absolute, has a `..` (even one that would stay inside), ends in
    `/`, or could be read in another way on another system: with a backslash, a drive or a NUL.
    """
    why = misread(location)
    if why is None and location.startswith("/"):
        why = "is absolute"
    names = tuple(name for name in location.split("/") if name not in ("", "."))
    if why is None and names and DRIVE.match(names[0]):
        why = "starts with a drive"
    if why is None and ".." in names:
        why = "leads out of a directory by '..'"
    if why is None and (not names or location.endswith(("/", "/."))):
        why = "names a directory"
    if why is None and WINDOWS:
        why = next(filter(None, map(misread_on_windows, names)), None)
    if why is not None:
        what = f"location {brief(location)} {why}; wanted a path of plain names, separated by '/'"
        raise ExternalDataError(f"{what}, to a file in the model's directory", location=where)
    return names


def misread(location: str) -> str | None:
    """What about a location other systems, or the operating system's own calls, would read differently."""
    if not location:
        return "is empty"
    if "\0" in location:
        return "has a NUL character"
    if "\\" in location:
        return "has a backslash"
    try:
        os.fsencode(location)
    except UnicodeEncodeError:
        return "cannot be the name of a file"
    return None


def misread_on_windows(name: str) -> str | None:
    """What about a component Windows would take for something other than a file of that name."""
    if ":" in name:
        return "names a stream"
    if name.endswith((".", " ")):
        return "has a name that ends in a dot or blank, which Windows drops"
    if name.split(".")[0].rstrip().lower() in DEVICES:
        return "names a device"
    return None


def brief(text: str) -> str:
    return repr(text if len(text) <= 200 else f"{text[:200]}...")
