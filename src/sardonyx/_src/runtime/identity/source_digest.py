"""Identity of Sardonyx's own sources.  It is part of the names of cached programs, which are valid for these sources only.

An installation is identified by the content of its RECORD, which lists the hashes of its files, so that the programs of
a container image are valid wherever the image is unpacked.  The sources of a checkout are identified by stamps (path,
size, times), since hashing them takes longer than opening a cached program.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

from sardonyx._src.compile.llvm.host_target import PathStamp, path_stamp
from sardonyx._src.compile.llvm.sources import installation, record_path

# The folders with the sources that determine compiled programs: the compiler, what encodes and binds programs, and all
# packages that these import, since bodies of operators, sizes and folded constants become parts of programs.
PROGRAM_PACKAGES = tuple(
    f"_src/{name}"
    for name in (
        "build", "compile", "convert", "dtypes", "grad", "infer", "interp", "io", "ir", "ops", "proto", "rewrite", "runtime", "schema", "tools",
    )
)  # fmt: skip


def package_identity() -> str:
    """The identity of this process's sources; empty if the sources are not files, as in a zip archive."""
    return installation_identity(*installation())


def installation_identity(package: str, version: str) -> str:
    """The hash of an installation's RECORD, or else of the stamps of the files that determine programs.

    RECORD is the list of files, with their hashes, that an installer writes: installed files are not edited, and every
    installation writes a new RECORD.
    """
    try:
        content = Path(record_path(package, version)).read_bytes()
    except OSError:
        stamps = source_stamps(package)
        content = repr(stamps).encode() if stamps else b""
    return hashlib.sha256(content).hexdigest() if content else ""


def source_stamps(package: str) -> list[PathStamp]:
    """The stamps of the files of a package that determine programs; empty if they are not files."""
    stamps = sorted(s for name in PROGRAM_PACKAGES for s in folder_stamps(os.path.join(package, name)))
    version_file = os.path.join(package, "__init__.py")
    return [path_stamp(version_file, os.stat(version_file)), *stamps] if stamps else []


def folder_stamps(folder: str) -> Iterator[PathStamp]:
    """The stamps of the sources in a folder, if it exists."""
    if not os.path.isdir(folder):
        return
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(".py"):
                yield path_stamp(entry.path, entry.stat())
            elif (
                "." not in entry.name and entry.name != "__pycache__"
            ):  # a folder: no package has a dot in its name
                yield from folder_stamps(entry.path)
