"""Source digests: file stamps of a package in a folder, and of an installed one."""

from __future__ import annotations

import os
from pathlib import Path

from sardonyx._src.runtime.identity.source_digest import installation_stamps, package_stamps


def make_package(folder: Path) -> Path:
    """A package with files in two subpackages, of which only `compile` affects programs."""
    root = folder / "sardonyx"
    for name in ("__init__.py", "compile/__init__.py", "compile/lower/conv.py", "check/rule.py"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("x = 1\n")
    return root


def stamped_files(of: Path) -> list[str]:
    return [os.path.relpath(path, of) for path, *_ in installation_stamps(str(of), "0.1.0")]


def test_only_files_that_affect_programs_are_stamped(tmp_path: Path) -> None:
    assert stamped_files(make_package(tmp_path)) == [
        "__init__.py",
        "compile/__init__.py",
        "compile/lower/conv.py",
    ]


def test_a_written_file_changes_the_stamps(tmp_path: Path) -> None:
    root = make_package(tmp_path)
    before = installation_stamps(str(root), "0.1.0")
    (root / "compile/lower/conv.py").write_text("x = 22\n")
    assert installation_stamps(str(root), "0.1.0") != before


def test_an_installed_package_uses_its_record(tmp_path: Path) -> None:
    root, record = make_package(tmp_path), tmp_path / "sardonyx-0.1.0.dist-info" / "RECORD"
    record.parent.mkdir()
    record.write_text("sardonyx/__init__.py,,\n")
    assert stamped_files(root) == ["../sardonyx-0.1.0.dist-info/RECORD"]
    before = installation_stamps(str(root), "0.1.0")
    record.unlink()
    record.write_text("sardonyx/__init__.py,,\nsardonyx/ir.py,,\n")
    assert installation_stamps(str(root), "0.1.0") != before


def test_the_record_of_another_version_is_ignored(tmp_path: Path) -> None:
    root = make_package(tmp_path)
    (tmp_path / "sardonyx-0.0.9.dist-info").mkdir()
    (tmp_path / "sardonyx-0.0.9.dist-info" / "RECORD").write_text("")
    assert "compile/lower/conv.py" in stamped_files(root)


def test_a_package_in_an_archive_has_no_stamps(tmp_path: Path) -> None:
    assert installation_stamps(str(tmp_path / "archive.zip" / "sardonyx"), "0.1.0") == []


def test_the_sources_of_this_process_have_stamps() -> None:
    assert package_stamps()
