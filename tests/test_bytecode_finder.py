"""Modules found by their compiled files are those that Python's own finder finds."""

from __future__ import annotations

import os
import py_compile
import subprocess
import sys
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from pathlib import Path

import pytest

from sardonyx._src.bytecode_finder import BytecodeFinder, BytecodeLoader

PACKAGE = "parcel"


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package with a module and a package in it, all compiled."""
    monkeypatch.setattr(sys, "pycache_prefix", None)  # which the suite sets
    folder = tmp_path / PACKAGE
    for name, text in {"__init__": "", "item": "value = 1", "inner/__init__": "value = 2"}.items():
        source = folder / f"{name}.py"
        source.parent.mkdir(exist_ok=True, parents=True)
        source.write_text(text)
        py_compile.compile(str(source), doraise=True)
    return folder


@pytest.mark.parametrize("name", ["item", "inner"])
def test_the_specification_is_that_of_the_standard_finder(package: Path, name: str) -> None:
    spec = BytecodeFinder(PACKAGE).find_spec(f"{PACKAGE}.{name}", [str(package)])
    standard = PathFinder.find_spec(f"{PACKAGE}.{name}", [str(package)])
    assert spec is not None
    assert standard is not None
    for attribute in ("name", "origin", "cached", "has_location", "parent", "submodule_search_locations"):
        assert getattr(spec, attribute) == getattr(standard, attribute)
    assert isinstance(spec.loader, BytecodeLoader)
    assert spec.loader.get_source(f"{PACKAGE}.{name}") == standard.loader.get_source(f"{PACKAGE}.{name}")  # type: ignore[union-attr]


def test_a_module_of_another_package_is_left_to_other_finders(package: Path) -> None:
    assert BytecodeFinder("other").find_spec(f"{PACKAGE}.item", [str(package)]) is None


def test_an_edited_source_is_left_to_the_standard_finder(package: Path) -> None:
    (package / "item.py").write_text("value = 10")
    assert BytecodeFinder(PACKAGE).find_spec(f"{PACKAGE}.item", [str(package)]) is None


def test_a_touched_source_is_left_to_the_standard_finder(package: Path) -> None:
    os.utime(package / "item.py", (1, 1))
    assert BytecodeFinder(PACKAGE).find_spec(f"{PACKAGE}.item", [str(package)]) is None


def test_a_source_without_a_compiled_file_is_left_to_the_standard_finder(package: Path) -> None:
    (compiled,) = (package / "__pycache__").glob("item.*")
    compiled.unlink()
    assert BytecodeFinder(PACKAGE).find_spec(f"{PACKAGE}.item", [str(package)]) is None


def test_a_file_of_another_python_is_left_to_the_standard_finder(package: Path) -> None:
    (compiled,) = (package / "__pycache__").glob("item.*")
    compiled.write_bytes(b"????" + compiled.read_bytes()[4:])
    assert BytecodeFinder(PACKAGE).find_spec(f"{PACKAGE}.item", [str(package)]) is None


def test_a_file_that_is_valid_by_its_hash_is_left_to_the_standard_finder(package: Path) -> None:
    mode = py_compile.PycInvalidationMode.CHECKED_HASH
    py_compile.compile(str(package / "item.py"), doraise=True, invalidation_mode=mode)
    assert BytecodeFinder(PACKAGE).find_spec(f"{PACKAGE}.item", [str(package)]) is None


def test_code_that_was_compiled_elsewhere_gets_the_names_of_the_files_that_are_here(package: Path) -> None:
    (package / "item.py").write_text("def f():\n    return lambda: 1\n")
    py_compile.compile(str(package / "item.py"), doraise=True)
    moved = package.with_name("moved")
    package.rename(moved)
    spec = BytecodeFinder(PACKAGE).find_spec(f"{PACKAGE}.item", [str(moved)])
    assert spec is not None
    module = module_from_spec(spec)
    assert isinstance(spec.loader, BytecodeLoader)
    spec.loader.exec_module(module)
    files = {code.co_filename for code in (module.f.__code__, module.f().__code__)}
    assert files == {module.__file__} == {str(moved / "item.py")}


def test_a_module_can_be_reloaded(package: Path) -> None:
    code = f"""
import importlib, sys
sys.path.insert(0, {str(package.parent)!r})
from sardonyx._src.bytecode_finder import BytecodeLoader, install
import {PACKAGE}
install({PACKAGE!r})
install({PACKAGE!r})
import {PACKAGE}.item as item
print(type(item.__loader__) is BytecodeLoader, len([f for f in sys.meta_path if "Bytecode" in type(f).__name__]))
open(item.__file__, "w").write("value = 30")
print(importlib.reload(item).value)
"""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPYCACHEPREFIX"}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["True", "1", "30"]
