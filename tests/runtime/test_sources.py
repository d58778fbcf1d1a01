"""What tells one state of the sources from the next: of a package in a folder, and of one that was installed."""

from __future__ import annotations

import os
from pathlib import Path

from sardonyx._src.runtime.sources import sources, stamps_of


def package(folder: Path) -> Path:
    """A package with a file in each of two rooms, one of which decides what programs are."""
    found = folder / "sardonyx"
    for name in ("__init__.py", "compile/__init__.py", "compile/lower/conv.py", "check/rule.py"):
        (found / name).parent.mkdir(parents=True, exist_ok=True)
        (found / name).write_text("x = 1\n")
    return found


def names(of: Path) -> list[str]:
    return [os.path.relpath(path, of) for path, *_ in stamps_of(str(of), "0.1.0")]


def test_files_of_the_rooms_that_compile_are_told_apart(tmp_path: Path) -> None:
    assert names(package(tmp_path)) == ["__init__.py", "compile/__init__.py", "compile/lower/conv.py"]


def test_a_file_that_is_written_shows(tmp_path: Path) -> None:
    found = package(tmp_path)
    before = stamps_of(str(found), "0.1.0")
    (found / "compile/lower/conv.py").write_text("x = 22\n")
    assert stamps_of(str(found), "0.1.0") != before


def test_what_is_installed_goes_by_its_record(tmp_path: Path) -> None:
    found, record = package(tmp_path), tmp_path / "sardonyx-0.1.0.dist-info" / "RECORD"
    record.parent.mkdir()
    record.write_text("sardonyx/__init__.py,,\n")
    assert names(found) == ["../sardonyx-0.1.0.dist-info/RECORD"]
    before = stamps_of(str(found), "0.1.0")
    record.unlink()
    record.write_text("sardonyx/__init__.py,,\nsardonyx/ir.py,,\n")
    assert stamps_of(str(found), "0.1.0") != before


def test_the_record_of_another_version_says_nothing(tmp_path: Path) -> None:
    found = package(tmp_path)
    (tmp_path / "sardonyx-0.0.9.dist-info").mkdir()
    (tmp_path / "sardonyx-0.0.9.dist-info" / "RECORD").write_text("")
    assert "compile/lower/conv.py" in names(found)


def test_nothing_tells_a_package_that_is_not_in_files(tmp_path: Path) -> None:
    assert stamps_of(str(tmp_path / "archive.zip" / "sardonyx"), "0.1.0") == []


def test_the_sources_of_this_process_are_found() -> None:
    assert sources()
