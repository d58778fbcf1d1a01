"""The identity of sources: stamps of a package in a folder, the content of the record of an installed one."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import sardonyx as sx
from sardonyx._src.compile.llvm.sources import installation, record_path
from sardonyx._src.runtime.identity.source_digest import (
    PROGRAM_PACKAGES,
    installation_identity,
    package_identity,
    source_stamps,
)
from source_facts import facts_of


def make_package(folder: Path) -> Path:
    """A package with files in two subpackages, of which only `_src/compile` affects programs."""
    root = folder / "sardonyx"
    for name in (
        "__init__.py",
        "_src/compile/__init__.py",
        "_src/compile/lower/conv.py",
        "_src/check/rule.py",
    ):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("x = 1\n")
    return root


def stamped_files(of: Path) -> list[str]:
    return [os.path.relpath(path, of) for path, *_ in source_stamps(str(of))]


def test_only_files_that_affect_programs_are_stamped(tmp_path: Path) -> None:
    assert stamped_files(make_package(tmp_path)) == [
        "__init__.py",
        "_src/compile/__init__.py",
        "_src/compile/lower/conv.py",
    ]


def test_the_packages_are_closed_under_imports() -> None:
    """A package that a stamped one imports may determine programs, too; modules beside the packages are mechanisms only."""
    root = Path(sx.__file__).parent
    stamped = {name.removeprefix("_src/") for name in PROGRAM_PACKAGES}
    imported = {
        name.split(".")[2]
        for package in PROGRAM_PACKAGES
        for file in (root / package).rglob("*.py")
        for name in facts_of(file).imports
        if name.startswith("sardonyx._src.")
    }
    assert imported > {"ops", "ir"}
    assert {name for name in imported if (root / "_src" / name).is_dir()} <= stamped


def test_a_written_file_changes_the_identity(tmp_path: Path) -> None:
    root = make_package(tmp_path)
    before = installation_identity(str(root), "0.1.0")
    (root / "_src/compile/lower/conv.py").write_text("x = 22\n")
    assert installation_identity(str(root), "0.1.0") != before


def install_package(folder: Path) -> Path:
    """A package with the record of an installer."""
    root, record = make_package(folder), folder / "sardonyx-0.1.0.dist-info" / "RECORD"
    record.parent.mkdir()
    record.write_text("sardonyx/__init__.py,,\n")
    return root


def test_an_installed_package_is_identified_by_its_record(tmp_path: Path) -> None:
    root = install_package(tmp_path)
    before = installation_identity(str(root), "0.1.0")
    (root / "_src/compile/lower/conv.py").write_text("x = 22\n")  # installed files are not edited
    assert installation_identity(str(root), "0.1.0") == before
    record = tmp_path / "sardonyx-0.1.0.dist-info" / "RECORD"
    record.write_text("sardonyx/__init__.py,,\nsardonyx/ir.py,,\n")
    assert installation_identity(str(root), "0.1.0") != before


def test_a_copied_installation_has_the_same_identity(tmp_path: Path) -> None:
    root = install_package(tmp_path / "first")
    shutil.copytree(tmp_path / "first", tmp_path / "second")
    copy = tmp_path / "second" / root.name
    assert installation_identity(str(copy), "0.1.0") == installation_identity(str(root), "0.1.0")
    assert source_stamps(str(copy)) != source_stamps(str(root))


def test_the_record_of_another_version_is_ignored(tmp_path: Path) -> None:
    root = install_package(tmp_path)
    assert installation_identity(str(root), "0.0.9") != installation_identity(str(root), "0.1.0")


def test_a_package_in_an_archive_has_no_identity(tmp_path: Path) -> None:
    assert installation_identity(str(tmp_path / "archive.zip" / "sardonyx"), "0.1.0") == ""


def test_the_sources_of_this_process_have_an_identity() -> None:
    assert package_identity()


def test_the_installation_of_this_process_is_the_package_that_users_import() -> None:
    package, version = installation()
    assert (package, version) == (os.path.dirname(str(sx.__file__)), sx.__version__)
    assert record_path(package, version) == f"{package}-{version}.dist-info/RECORD"
    stamped = [os.path.relpath(path, package) for path, *_ in source_stamps(package)]
    assert {"__init__.py", "_src/compile/pipeline.py", "_src/rewrite/optimize.py"} <= {*stamped}
