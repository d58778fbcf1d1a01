"""Indexes: which modules of a package say something about a name, so that a process imports no others.

A model names a dozen operators of hundreds.  `index.json` beside the modules, written by `make regen`, lists for every
module the names that it is about: operators, as `Abs` or `ai.onnx.ml.Scaler`.
"""

from __future__ import annotations

import importlib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

FILE = "index.json"


def name_of(domain: str, op_type: str) -> str:
    """An operator as an index names it."""
    return f"{domain}.{op_type}" if domain else op_type


@dataclass(eq=False)
class Index:
    """The modules of a package, by their names without the package's."""

    package: str
    folder: Path
    _brought: set[str] = field(default_factory=set)
    _whole: bool = False

    @cached_property
    def names(self) -> Mapping[str, list[str]] | None:
        """What each module is about; None if the package has other modules than are listed, as it has after one was
        added."""
        try:
            listed: dict[str, list[str]] = json.loads((self.folder / FILE).read_bytes())
        except FileNotFoundError:
            return None
        return listed if listed.keys() == set(modules(self.folder)) else None

    @cached_property
    def modules(self) -> Mapping[str, list[str]]:
        """The modules that are about each name."""
        found: dict[str, list[str]] = {}
        for module, names in (self.names or {}).items():
            for name in names:
                found.setdefault(name, []).append(module)
        return found

    def bring(self, name: str) -> bool:
        """Imports what is about a name; answers whether it is asked for the first time and may be about something."""
        if name in self._brought or (self.names is not None and name not in self.modules):
            return False
        if self.names is None:
            self.bring_all()
        for module in self.modules.get(name, ()):
            self.module(module)
        self._brought.add(name)
        return True

    def bring_all(self) -> None:
        """Imports every module, once."""
        if not self._whole:
            for module in modules(self.folder):
                self.module(module)
            self._whole = True

    def module(self, name: str) -> None:
        importlib.import_module(f"{self.package}.{name}")


def modules(folder: Path | str, prefix: str = "") -> Iterator[str]:
    """The dotted names of all modules below a folder, in order."""
    for entry in sorted(os.scandir(folder), key=lambda one: one.name):
        name = prefix + entry.name.removesuffix(".py")
        if entry.name.endswith(".py") and entry.name != "__init__.py":
            yield name
        elif entry.is_dir() and entry.name != "__pycache__":
            yield from modules(entry.path, f"{name}.")
