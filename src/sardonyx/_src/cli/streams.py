"""The standard streams: whole, and safe from what names in a model can hold."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterable
from typing import BinaryIO

from sardonyx._src.errors import InputError


def prepare() -> None:
    """Makes output possible whatever the text: a closed stream swallows it, an encoding escapes what it lacks."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # closed by the caller
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115  # for the process's life
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def standard_input() -> BinaryIO:
    """The bytes of standard input; raises InputError when it is closed."""
    if sys.stdin is None:
        raise InputError("standard input is closed", name="-")
    return sys.stdin.buffer


def write_out(pieces: Iterable[str]) -> None:
    """Writes to standard output; a reader that has seen enough, as with `| head`, changes nothing else."""
    try:
        for piece in pieces:
            sys.stdout.write(piece)
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def printable(text: str) -> str:
    """The text on one line, with escapes for characters that do not print: a name in a model steers no terminal."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)
