"""Write docs/generated/onnxruntime.md: which names of onnxruntime's interface `sardonyx.compat.onnxruntime` has."""

from __future__ import annotations

import enum
import json
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import onnxruntime

import sardonyx.compat.onnxruntime as compat

PAGE = Path("docs/generated/onnxruntime.md")
HEAD = """# Names of onnxruntime

Written by `make regen` from onnxruntime {version} and `sardonyx.compat.onnxruntime`.  What the names do is on the page
[Coming from onnxruntime](../onnxruntime.md); a name that is missing is an AttributeError.

| name | in sardonyx.compat.onnxruntime |
|---|---|
"""
CLASSES = (
    "InferenceSession",
    "SessionOptions",
    "RunOptions",
    "OrtValue",
    "IOBinding",
    "ModelMetadata",
    "NodeArg",
)
USES = Path(__file__).with_name("onnxruntime_uses.json")  # written by onnxruntime_uses.py
USES_HEAD = """
## Names that packages want

How many of {count} public packages and programs that import onnxruntime use each name, outside of their tests, examples and
documentation. `quantization`, `tools`, `transformers` and `training` stand for all modules of these packages.

| name | packages | in sardonyx.compat.onnxruntime |
|---|---|---|
"""
EXCEPTIONS = "capi.onnxruntime_pybind11_state"


def files() -> dict[Path, str]:
    """Path from the project's root -> content."""
    rows = [*module_rows(), *class_rows(), *exception_rows()]
    lines = [f"| `{name}` | {'yes' if is_there else '**no**'} |\n" for name, is_there in rows]
    head = HEAD.format(version=onnxruntime.__version__)
    return {PAGE: "".join([head, *lines, uses_section()])}


def uses_section() -> str:
    """The names that packages want, and the packages."""
    counted = json.loads(USES.read_text())
    head = USES_HEAD.format(count=len(counted["repositories"]))
    rows = [
        f"| `{name}` | {n} | {'yes' if is_here(name) else '**no**'} |\n"
        for name, n in counted["uses"].items()
    ]
    return "".join([head, *rows, "\nThe packages: ", ", ".join(counted["repositories"]), ".\n"])


def module_rows() -> Iterator[tuple[str, bool]]:
    """The names of the module itself, modules apart."""
    for name in sorted(vars(onnxruntime)):
        if not name.startswith("_") and not isinstance(getattr(onnxruntime, name), ModuleType):
            yield name, hasattr(compat, name)


def class_rows() -> Iterator[tuple[str, bool]]:
    """The attributes and methods of the classes that programs use most."""
    for owner in CLASSES:
        theirs, ours = getattr(onnxruntime, owner), getattr(compat, owner)
        ours = ours() if owner.endswith("Options") else ours
        for name in sorted(dir(theirs)):
            if not name.startswith("_"):
                yield f"{owner}.{name}", hasattr(ours, name) or name in getattr(ours, "__slots__", ())


def exception_rows() -> Iterator[tuple[str, bool]]:
    """The exceptions of the native module."""
    theirs, ours = onnxruntime.capi.onnxruntime_pybind11_state, compat.capi.onnxruntime_pybind11_state
    for name, value in sorted(vars(theirs).items()):
        if isinstance(value, type) and issubclass(value, Exception) and not issubclass(value, enum.Enum):
            yield f"{EXCEPTIONS}.{name}", hasattr(ours, name)


def is_here(name: str) -> bool:
    """Whether a dotted name is that of something here, attributes of objects among them."""
    owner: object = compat
    for part in name.split("."):
        of_objects = (*getattr(owner, "__slots__", ()), *getattr(owner, "__annotations__", ()))
        if not hasattr(owner, part) and part not in of_objects:
            return False
        owner = getattr(owner, part, None)
    return True
