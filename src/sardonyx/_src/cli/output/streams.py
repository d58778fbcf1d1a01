"""The standard streams: robust against closed pipes, encodings and control characters in names of a model."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterable
from typing import BinaryIO

from sardonyx._src.errors import InputError

STANDARD_STREAM = "-"  # on the command line: standard input, or standard output


def prepare() -> None:
    """Makes every write succeed: output to a closed stream is discarded, unencodable characters are escaped."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # closed by the caller
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115  # stays open until the process ends
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def standard_input() -> BinaryIO:
    """The binary standard input; raises InputError if it is closed."""
    if sys.stdin is None:
        raise InputError("standard input must be open; got a closed stream", name="-")
    return sys.stdin.buffer


def standard_output() -> BinaryIO:
    """The binary standard output; raises InputError if it is closed."""
    if sys.stdout is None:
        raise InputError("standard output must be open; got a closed stream", name=STANDARD_STREAM)
    return sys.stdout.buffer


def write_out(pieces: Iterable[str]) -> None:
    """Writes to standard output; a closed pipe, as with `| head`, ends the output without an error."""
    try:
        for piece in pieces:
            sys.stdout.write(piece)
        sys.stdout.flush()
    except BrokenPipeError:
        discard_unwritten()


def discard_unwritten() -> None:
    """Discards what standard output cannot write; otherwise Python would try again at exit and end with status 120."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def printable(text: str) -> str:
    """The text with non-printable characters escaped, so that names in a model cannot control the terminal."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)
