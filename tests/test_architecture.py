"""The layering law: a room imports only from rooms to its left, imports inside functions included."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import sardonyx._src

ORDER = (
    "errors dtypes ir schema proto io ops infer interp convert grad check rewrite compile runtime train view cli"
).split()
STRANGERS = {"ir", "schema", "proto"}  # which ignore one another
SRC = Path(sardonyx._src.__path__[0])
NOT_AT_RUN_TIME = {"onnx", "google", "torch", "onnxruntime"}


def imports(path: Path) -> Iterator[str]:
    """The dotted names that a file imports, at any depth."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, f"{path}: relative import of {node.module}"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def room_of(path: Path) -> str:
    return path.relative_to(SRC).parts[0].removesuffix(".py")


def sources() -> list[Path]:
    return [
        p for p in sorted(SRC.rglob("*.py")) if p.parent != SRC or p.name == "errors.py"
    ]  # less the facade


def test_every_folder_is_a_room_of_the_order() -> None:
    assert {room_of(p) for p in sources()} <= set(ORDER)


def test_rooms_import_only_leftwards() -> None:
    for path in sources():
        room = room_of(path)
        for name in imports(path):
            parts = name.split(".")
            if parts[0] != "sardonyx":
                continue
            assert parts[1] == "_src", (
                f"{path} imports {name}: internal modules never import the public package"
            )
            other = parts[2]
            assert other in ORDER, f"{path} imports {name}, which is no package of the order"
            assert ORDER.index(other) <= ORDER.index(room), f"{path} reaches up to {name}"
            assert other == room or not {room, other} <= STRANGERS, (
                f"{path}: {room} and {other} ignore one another"
            )


def test_no_other_implementation_is_imported() -> None:
    for path in sources():
        for name in imports(path):
            assert name.split(".")[0] not in NOT_AT_RUN_TIME, f"{path} imports {name}"


def test_only_one_file_knows_llvmlite() -> None:
    users = {
        p.relative_to(SRC).as_posix() for p in sources() if any(n.startswith("llvmlite") for n in imports(p))
    }
    assert users <= {"compile/llvm/compiler.py"}
