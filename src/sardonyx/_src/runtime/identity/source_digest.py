"""Stamps of Sardonyx's own sources.  They are part of the names of cached programs, which are valid for these sources only.

Stamps are used instead of hashes since they cost only a few calls of the file system.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

import sardonyx._src.compile as compile_package
from sardonyx._src.compile.llvm.host_target import PathStamp, path_stamp
from sardonyx._src.compile.llvm.sources import record_path

# The packages with the sources that determine compiled programs.
PROGRAM_PACKAGES = ("compile", "convert", "infer", "rewrite")


def package_stamps() -> list[PathStamp]:
    """The stamps of this process's sources; empty if the sources are not files, as in a zip archive."""
    package = os.path.dirname(compile_package.__path__[0])
    return installation_stamps(package, sys.modules[compile_package.__name__.partition(".")[0]].__version__)


def installation_stamps(package: str, version: str) -> list[PathStamp]:
    """The stamp of the installation's RECORD, or else of the files that determine programs.

    RECORD is the list of files that an installer writes: installed files are not edited, and every installation writes a new
    RECORD.  Hashing the files would take longer than opening a cached program.
    """
    record = record_path(package, version)
    try:
        return [path_stamp(record, os.stat(record))]
    except OSError:
        stamps = sorted(s for name in PROGRAM_PACKAGES for s in folder_stamps(os.path.join(package, name)))
    facade = os.path.join(package, "__init__.py")  # contains the version
    return [path_stamp(facade, os.stat(facade)), *stamps] if stamps else []


def folder_stamps(folder: str) -> Iterator[PathStamp]:
    """The stamps of the sources in a folder, if it exists."""
    if not os.path.isdir(folder):
        return
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(".py"):
                yield path_stamp(entry.path, entry.stat())
            elif "." not in entry.name and entry.name != "__pycache__":
                yield from folder_stamps(entry.path)
