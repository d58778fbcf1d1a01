"""Count which names of onnxruntime packages use: `python tools/onnxruntime_uses.py GIT_FOLDER...` writes onnxruntime_uses.json.

Each folder is that of a repository, as `owner+name/repo`.  Counted is how many repositories use a name, by the syntax trees of
the Python files of their newest commit that import onnxruntime and are no tests, examples or documentation: what they import,
attributes of modules, and attributes with the name of a method of onnxruntime that other classes hardly have.  A package that is
missing here stands for all of its modules: `quantization`, `tools`, and, but for its helper of bindings, `transformers`.
"""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import onnxruntime

PACKAGE = "onnxruntime"
RESULT = Path(__file__).with_suffix(".json")
SKIPPED = re.compile(
    r"(^|.*/)(\w*_)?(tests?|testing|examples?|demos?|docs?|tutorials?|notebooks?|samples?)/|(.*/)?(test_|conftest)"
)
CLASSES = (
    "InferenceSession",
    "SessionOptions",
    "RunOptions",
    "OrtValue",
    "IOBinding",
    "ModelMetadata",
    "NodeArg",
)
# Attributes that other classes have, too.
COMMON = frozenset({"_sess", "_session", "add_initializer", "data_type", "device_name", "has_value"})
PRIVATE = re.compile(r"\bself\.(_[a-z]\w*)")  # attributes of the classes of onnxruntime, in its sources
WHOLE = ("quantization", "tools", "transformers", "backend", "datasets", "training")
HELPER = "transformers.io_binding_helper"


def method_names() -> dict[str, str]:
    """Attribute -> qualified name, of those that are told from attributes of other classes by their names."""
    names: dict[str, str] = {}
    for owner in CLASSES:
        for name in dir(getattr(onnxruntime, owner)):
            if "_" in name.strip("_") and not name.startswith("_") and name not in COMMON:
                names.setdefault(name, f"{owner}.{name}")
    source = Path(onnxruntime.capi.onnxruntime_inference_collection.__file__).read_text()
    for node in ast.parse(source).body:
        if isinstance(node, ast.ClassDef) and node.name in (*CLASSES, "Session"):
            owner = "InferenceSession" if node.name == "Session" else node.name
            for name in PRIVATE.findall(ast.get_source_segment(source, node) or ""):
                if name not in COMMON:
                    names.setdefault(name, f"{owner}.{name}")
    return names


def used_names(tree: ast.Module, methods: dict[str, str]) -> Iterator[str]:
    """The names of onnxruntime that a module uses, with their modules below the package."""
    aliases: dict[str, str] = {}  # local name -> name below the package, "" for itself
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.partition(".")[0] == PACKAGE:
                    below = alias.name.removeprefix(PACKAGE).removeprefix(".")
                    aliases[alias.asname or PACKAGE] = below if alias.asname else ""
                    yield below
        elif (
            isinstance(node, ast.ImportFrom)
            and (node.module or "").partition(".")[0] == PACKAGE
            and not node.level
        ):
            below = (node.module or "").removeprefix(PACKAGE).removeprefix(".")
            for alias in node.names:
                name = f"{below}.{alias.name}".strip(".")
                aliases[alias.asname or alias.name] = name
                yield name
        elif isinstance(node, ast.Call) and is_dynamic_import(node):
            aliases[""] = ""  # bound to any name
    if not aliases:
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            if (qualified := dotted_name(node, aliases)) is not None:
                yield qualified
            elif "" in aliases and node.attr in vars(onnxruntime):
                yield node.attr
            elif node.attr in methods and not (node.attr.startswith("_") and is_self(node.value)):
                yield methods[node.attr]


def is_dynamic_import(call: ast.Call) -> bool:
    """Whether a call is import_module("onnxruntime")."""
    function = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    argument = call.args[0] if call.args else None
    return function == "import_module" and isinstance(argument, ast.Constant) and argument.value == PACKAGE


def is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "self"


def dotted_name(node: ast.Attribute, aliases: dict[str, str]) -> str | None:
    """The name of an attribute of an imported name, or None."""
    parts, value = [node.attr], node.value
    while isinstance(value, ast.Attribute):
        parts.append(value.attr)
        value = value.value
    if not isinstance(value, ast.Name) or value.id not in aliases:
        return None
    return ".".join([*filter(None, [aliases[value.id]]), *reversed(parts)])


def normalized(name: str) -> str:
    """The name to count: a package that is missing here for what it contains, a class for its members; "" for none.

    `onnxruntime_pybind11_state` and `_pybind_state` are one module.
    """
    if name.startswith(HELPER):
        return ".".join(name.split(".")[:3])
    parts = name.replace("onnxruntime_pybind11_state", "_pybind_state").split(".")
    if parts[0] in WHOLE:
        return parts[0]
    if parts[0] == "capi":
        return ".".join(parts[:3]) if len(parts) > 2 else ""
    return (
        ""
        if parts[0] in ("", "*") or parts[0].startswith("_")
        else ".".join(parts[: 2 if parts[0] in CLASSES else 1])
    )


def repository_names(folder: Path, methods: dict[str, str]) -> set[str]:
    """The names that a repository uses; empty if it does not import onnxruntime."""
    git = ["git", f"--git-dir={folder}"]
    listed = subprocess.run(
        [*git, "grep", "-lI", PACKAGE, "HEAD", "--", "*.py"], capture_output=True, text=True, check=False
    )
    names: set[str] = set()
    for line in listed.stdout.splitlines():
        if not SKIPPED.match(line.removeprefix("HEAD:")):
            source = subprocess.run([*git, "show", line], capture_output=True, check=True).stdout
            names |= {normalized(name) for name in used_names(parsed(source), methods)}
    return names - {""}


def parsed(source: bytes) -> ast.Module:
    """The syntax tree of a file; empty for what is no Python of this version."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about the sources of others
            return ast.parse(source)
    except (SyntaxError, ValueError):
        return ast.Module([], [])


def main(folders: Iterable[str]) -> None:
    methods = method_names()
    uses: Counter[str] = Counter()
    repositories = []
    for folder in sorted(map(Path, folders), key=lambda path: str(path).lower()):
        names = repository_names(folder, methods)
        if names:
            repositories.append(folder.parent.name.replace("+", "/"))
            uses.update(names)
    counts = dict(sorted(uses.items(), key=lambda item: (-item[1], item[0])))
    RESULT.write_text(json.dumps({"repositories": repositories, "uses": counts}, indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
