"""Imports of this package's modules from their compiled files, without the searches of Python's own finder.

A session imports hundreds of small modules.  The standard finder reads folders, tries each suffix that a module's file may
have, and makes the name of its compiled file anew; this one knows both names, which saves an eighth of the time.  It finds
a module only if the file is there that Python itself would load: compiled by this version of Python, from the source that
is there.  All others, such as edited sources, are left to the standard finder.
"""

from __future__ import annotations

import _imp
import marshal
import os
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import MAGIC_NUMBER, cache_from_source
from types import CodeType, ModuleType

HEADER_BYTES = 16  # magic number, flags, time and size of the source
COMPARES_TIME = bytes(4)  # flags of a file that is valid for a source of its time and size
LOW_BITS = 0xFFFFFFFF


class BytecodeLoader(SourceFileLoader):
    """The standard loader of a module whose code has been read."""

    code: CodeType | None = None

    def exec_module(self, module: ModuleType) -> None:
        if self.code is None:  # the module is executed once more, as by `importlib.reload`
            super().exec_module(module)
            return
        code, self.code = self.code, None
        exec(code, module.__dict__)


class BytecodeFinder:
    """A finder of modules below one package, for `sys.meta_path`."""

    def __init__(self, package: str) -> None:
        self.prefix = f"{package}."
        self.suffix = os.path.basename(cache_from_source("module.py")).removeprefix("module")

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The specification of a module or package; None leaves it to the next finder."""
        if not name.startswith(self.prefix) or not path or target is not None:
            return None
        parent, tail = path[0], name.rpartition(".")[2]
        return self.read_spec(name, parent, tail) or self.read_spec(
            name, f"{parent}{os.sep}{tail}", "__init__"
        )

    def read_spec(self, name: str, folder: str, stem: str) -> ModuleSpec | None:
        """The specification of a module with this source in a folder; None unless it is compiled."""
        source = f"{folder}{os.sep}{stem}.py"
        compiled = f"{folder}{os.sep}__pycache__{os.sep}{stem}{self.suffix}"
        code = read_code(source, compiled)
        if code is None:
            return None
        loader = BytecodeLoader(name, source)
        loader.code = code
        spec = ModuleSpec(name, loader, origin=source, is_package=stem == "__init__")
        spec.has_location, spec.cached = True, compiled
        if spec.submodule_search_locations is not None:
            spec.submodule_search_locations.append(folder)
        return spec


def read_code(source: str, compiled: str) -> CodeType | None:
    """The code of a compiled file; None if it is not there, or not of this source."""
    try:
        with open(compiled, "rb", buffering=0) as file:
            content = file.read()
        stamp = os.stat(source)
    except OSError:
        return None
    expected = (int(stamp.st_mtime) & LOW_BITS, stamp.st_size & LOW_BITS)
    header = MAGIC_NUMBER + COMPARES_TIME + b"".join(part.to_bytes(4, "little") for part in expected)
    if content[:HEADER_BYTES] != header:
        return None
    code = marshal.loads(memoryview(content)[HEADER_BYTES:])
    if not isinstance(code, CodeType):
        return None
    # Code that was compiled elsewhere, as by an installer that moves files, names files that are not here.
    _imp._fix_co_filename(code, source)  # type: ignore[attr-defined]  # as importlib does
    return code


def install(package: str) -> None:
    """Lets the modules below a package be found here first, unless compiled files are kept in another folder."""
    if sys.pycache_prefix is None and not any(isinstance(f, BytecodeFinder) for f in sys.meta_path):
        sys.meta_path.insert(0, BytecodeFinder(package))
