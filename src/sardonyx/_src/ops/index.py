"""Module index: maps an operator to the modules of a package that concern it, so that a process imports no other modules.

A model uses few of hundreds of operators.  `index.json` in the folder of a package, written by `make regen`, lists for
every module the operators that it registers something for, as `Abs` or `ai.onnx.ml.Scaler`.  The packages of operators,
of lowerings and of rewrite passes each have one.

A stale index must not hide an operator.  Two checks see to that:
- The index lists exactly the modules that exist.  Otherwise, after a module was added or removed, it is ignored and
  every module is imported.
- It records for every module a digest of the operator names that the source mentions.  The first look-up of a name that
  the index lacks compares the digests, once per process, and imports the modules whose digest differs before it reports
  a miss.  An edit that mentions the same names keeps the digest, so most edits need no `make regen`; size and
  modification time are not used, as neither survives an edit, or a clone, reliably.

Both are checked only in a source checkout, since an installed package does not change; and digests are not compared in
look-ups that the index answers.  A facet that is added in a listed module, for an operator that other modules define, is
therefore not found before `make regen`; a test fails until then.
"""

from __future__ import annotations

import importlib
import json
import os
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TypedDict

INDEX_FILE = "index.json"
QUOTED_NAME = re.compile(rb"""["']([A-Z]\w*)["']""")  # the name of an operator in code
IS_CHECKOUT = (Path(__file__).parents[4] / "pyproject.toml").exists()


class IndexEntry(TypedDict):
    """The entry of one module in an index."""

    names: list[str]
    digest: str


def qualified_name(domain: str, op_type: str) -> str:
    """The name of an operator in an index."""
    return f"{domain}.{op_type}" if domain else op_type


@dataclass(eq=False)
class Index:
    """The index of one package; its modules are named relative to the package.

    mention: finds the operators that a source mentions, as its only group.
    """

    package: str
    folder: Path
    mention: re.Pattern[bytes] = QUOTED_NAME
    is_checkout: bool = IS_CHECKOUT
    _imported: set[str] = field(default_factory=set)
    _staleness: dict[str, bool] = field(default_factory=dict)
    _is_complete: bool = False

    @cached_property
    def entries(self) -> Mapping[str, IndexEntry] | None:
        """The recorded entry of each module; None in a checkout unless exactly the existing modules are listed."""
        try:
            entries: dict[str, IndexEntry] = json.loads((self.folder / INDEX_FILE).read_bytes())
        except FileNotFoundError:
            return None
        is_current = not self.is_checkout or entries.keys() == set(module_names(self.folder))
        return entries if is_current else None

    @cached_property
    def modules(self) -> Mapping[str, list[str]]:
        """The modules that concern each name."""
        modules: dict[str, list[str]] = {}
        for module, entry in (self.entries or {}).items():
            for name in entry["names"]:
                modules.setdefault(name, []).append(module)
        return modules

    @cached_property
    def stale_modules(self) -> tuple[str, ...]:
        """The modules whose entry may lack a name: those that mention other names than at the last `make regen`."""
        if self.entries is None:
            return tuple(module_names(self.folder))
        return tuple(module for module in self.entries if self.is_stale(module))

    def is_stale(self, module: str) -> bool:
        """Whether the entry of a module may lack a name, or is missing."""
        if self.entries is None:
            return True
        if not self.is_checkout:
            return False
        if module not in self._staleness:  # sources do not change while a process runs
            self._staleness[module] = self.entries[module]["digest"] != self.digest(module)
        return self._staleness[module]

    def digest(self, module: str) -> str:
        """A digest of the set of names that the source of a module mentions."""
        source = (self.folder / f"{module.replace('.', '/')}.py").read_bytes()
        return f"{zlib.crc32(b' '.join(sorted(set(self.mention.findall(source))))):08x}"

    def import_for(self, name: str) -> bool:
        """Imports the modules that concern a name.

        Returns whether this is the first look-up of a name for which something may be registered.
        """
        if name in self._imported:
            return False
        modules: Sequence[str] = self.modules.get(name, ()) if self.entries is not None else ()
        if not modules:
            modules = self.stale_modules
            if not modules:
                return False
        for module in modules:
            self.import_module(module)
        self._imported.add(name)
        return True

    def import_all(self) -> None:
        """Imports every module, once."""
        if not self._is_complete:
            for module in module_names(self.folder):
                self.import_module(module)
            self._is_complete = True

    def import_module(self, name: str) -> None:
        importlib.import_module(f"{self.package}.{name}")

    def text(self, pairs: Iterable[tuple[str, str]]) -> str:
        """The content of the index file, from pairs of a module's full name and the name of an operator."""
        names: dict[str, set[str]] = {module: set() for module in module_names(self.folder)}
        for module, name in pairs:
            names[module.removeprefix(f"{self.package}.")].add(name)
        lines = (
            f"  {json.dumps(module)}: {json.dumps({'names': sorted(names[module]), 'digest': self.digest(module)})}"
            for module in names
        )
        return "{\n" + ",\n".join(lines) + "\n}\n"


def module_names(folder: Path | str, prefix: str = "") -> Iterator[str]:
    """The dotted names of all modules below a folder, in order."""
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
        name = prefix + entry.name.removesuffix(".py")
        if entry.name.endswith(".py") and entry.name != "__init__.py":
            yield name
        elif entry.is_dir() and entry.name != "__pycache__":
            yield from module_names(entry.path, f"{name}.")
