"""What tells one state of our own sources from the next, at the price of a few questions to the file system."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

import sardonyx._src.compile as room
from sardonyx._src.compile.llvm.host import Stamp, stamp

ROOMS = ("compile", "convert", "infer", "rewrite")  # whose files decide what a program is


def sources() -> list[Stamp]:
    """The stamps of this process's sources; none for a package that is not in files."""
    package = os.path.dirname(room.__path__[0])
    return stamps_of(package, sys.modules[room.__name__.partition(".")[0]].__version__)


def stamps_of(package: str, version: str) -> list[Stamp]:
    """The record of the package's installation, or else the files that decide what a program is.

    What is installed is not edited, and written anew whenever it changes.  Reading files would take longer than opening
    a model.
    """
    record = os.path.join(
        os.path.dirname(package), f"{os.path.basename(package)}-{version}.dist-info", "RECORD"
    )
    try:
        return [stamp(record, os.stat(record))]
    except OSError:
        found = sorted(one for name in ROOMS for one in stamps_in(os.path.join(package, name)))
    facade = os.path.join(package, "__init__.py")  # which has the version
    return [stamp(facade, os.stat(facade)), *found] if found else []


def stamps_in(folder: str) -> Iterator[Stamp]:
    """Those of the sources in a folder, if there is one."""
    if not os.path.isdir(folder):
        return
    with os.scandir(folder) as found:
        for one in found:
            if one.name.endswith(".py"):
                yield stamp(one.path, one.stat())
            elif "." not in one.name and one.name != "__pycache__":
                yield from stamps_in(one.path)
