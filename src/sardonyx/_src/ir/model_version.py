"""Versions of models: plain numbers, or semantic versions packed into 64 bits (IR.md, "Versioning").

A semantic version has the major number in the two most significant bytes, the minor number in the next two, and the
patch number in the other four.  At least one of major and minor is not zero, which distinguishes it from a plain number.
"""

from __future__ import annotations

import re

from sardonyx._src.errors import InputError

SEMANTIC = re.compile(r"(\d+)\.(\d+)\.(\d+)", re.ASCII)
PLAIN = re.compile(r"\d+", re.ASCII)


def format_model_version(version: int) -> str:
    """A model_version as major.minor.patch if its upper four bytes say so, otherwise as a number."""
    bits = version % (1 << 64)
    if bits < 1 << 32:
        return str(version)
    return f"{bits >> 48}.{bits >> 32 & 0xFFFF}.{bits & 0xFFFFFFFF}"


def parse_model_version(text: str) -> int:
    """The int64 of `major.minor.patch` or of a plain number; raises InputError for any other text or too large a number."""
    match = SEMANTIC.fullmatch(text)
    if match is not None:
        return pack(text, *map(int, match.groups()))
    if PLAIN.fullmatch(text) is None or int(text) >= 1 << 32:
        what = "a model version must be major.minor.patch, as 1.2.3, or a number below 2**32"
        raise InputError(f"{what}; got {text!r}", name="model_version")
    return int(text)


def pack(text: str, major: int, minor: int, patch: int) -> int:
    """The semantic version as a signed number of 64 bits."""
    for name, number, bits in (("major", major, 16), ("minor", minor, 16), ("patch", patch, 32)):
        if number >= 1 << bits:
            what = f"the {name} number of a model version must be below 2**{bits}"
            raise InputError(f"{what}; got {text!r}", name="model_version")
    if major == minor == 0:
        what = "the major or the minor number of a semantic version must not be 0"
        raise InputError(f"{what}; got {text!r}; write {patch} for a plain number", name="model_version")
    packed = major << 48 | minor << 32 | patch
    return packed - (1 << 64) if packed >= 1 << 63 else packed
