"""Indexes: a look-up imports only the modules of a name; a stale index hides nothing; the committed ones are current."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sardonyx._src.compile.partition.regions.registry import OPERATOR_INDEX, PATTERN_INDEX
from sardonyx._src.ops import registry
from sardonyx._src.ops.api import OPERATORS
from sardonyx._src.ops.index import INDEX_FILE, Index, module_names
from sardonyx._src.rewrite import pages

MODULES = {"abs": ["Abs"], "both": ["Abs", "Neg"], "other.neg": ["Neg"], "axes": []}


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Index]:
    """The index of a package `sx_indexed` whose modules do nothing."""
    folder = tmp_path / "sx_indexed"
    for name in MODULES:
        file = folder / f"{name.replace('.', '/')}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    index = Index("sx_indexed", folder)
    (folder / INDEX_FILE).write_text(
        index.text((module, name) for module in MODULES for name in MODULES[module])
    )
    monkeypatch.syspath_prepend(tmp_path)
    yield Index("sx_indexed", folder, is_checkout=True)
    for name in [name for name in sys.modules if name.partition(".")[0] == "sx_indexed"]:
        del sys.modules[name]


def imported_modules() -> set[str]:
    names = (name.removeprefix("sx_indexed.") for name in sys.modules if name.startswith("sx_indexed."))
    return {name for name in names if name != "other"}


def test_only_the_modules_of_a_name_are_imported(index: Index) -> None:
    assert index.import_for("Neg")
    assert imported_modules() == {"both", "other.neg"}
    assert not index.import_for("Neg")
    assert not index.import_for("Unknown")
    assert imported_modules() == {"both", "other.neg"}


@pytest.mark.parametrize("change", ["added", "removed", "unwritten"])
def test_all_is_imported_where_the_index_lists_other_modules(index: Index, change: str) -> None:
    if change == "added":
        (index.folder / "new.py").touch()
    elif change == "removed":
        (index.folder / "abs.py").unlink()
    else:
        (index.folder / INDEX_FILE).unlink()
    assert index.import_for("Unknown")
    assert imported_modules() == set(module_names(index.folder)) >= {"both", "other.neg", "axes"}


def test_an_operator_that_joins_a_listed_module_is_found(index: Index) -> None:
    source = 'from sardonyx._src.ops.api import Operator\nop = Operator("Toy", domain="indexed")\n'
    (index.folder / "abs.py").write_text(source)
    try:
        assert index.import_for("indexed.Toy")
        assert ("indexed", "Toy") in OPERATORS
        assert imported_modules() == {"abs"}
        assert not index.import_for("indexed.Toy")
    finally:
        OPERATORS.pop(("indexed", "Toy"), None)


def test_a_listed_name_is_found_without_reading_the_sources(index: Index) -> None:
    (index.folder / "axes.py").write_text('NAME = "Toy"\n')
    assert index.import_for("Neg")
    assert imported_modules() == {"both", "other.neg"}


def test_an_edit_that_mentions_the_same_names_leaves_the_index_current(index: Index) -> None:
    (index.folder / "abs.py").write_text("# explains more\nanswer = 42\n")
    assert not index.import_for("Unknown")
    assert imported_modules() == set()


def test_the_sources_of_an_installed_package_are_not_read(index: Index) -> None:
    (index.folder / "abs.py").write_text('NAME = "Toy"\n')
    assert not Index(index.package, index.folder, is_checkout=False).import_for("Toy")


def test_the_folder_of_an_installed_package_is_not_read(index: Index) -> None:
    (index.folder / "new.py").touch()
    installed = Index(index.package, index.folder, is_checkout=False)
    assert not installed.import_for("Unknown")
    assert installed.import_for("Neg")
    assert imported_modules() == {"both", "other.neg"}


@pytest.mark.parametrize("text", ["Abs(x)", "Abs <axis = 1> (x)", "Abs<axis = 1>(x)", "root='Abs'"])
def test_the_digest_of_a_pass_covers_the_operators_of_its_pattern(index: Index, text: str) -> None:
    passes = Index(index.package, index.folder, pages.PASS_MENTION)
    empty = passes.digest("abs")
    (index.folder / "abs.py").write_text(f'"""abs: nothing.\n\nBefore: y = {text}\n"""\n')
    assert passes.digest("abs") != empty


@pytest.mark.parametrize(
    "index", [registry.INDEX, OPERATOR_INDEX, PATTERN_INDEX, pages.INDEX], ids=lambda index: index.package
)
def test_the_committed_indexes_are_current(index: Index) -> None:
    assert index.entries is not None and not index.stale_modules, "run `make regen`"


def test_a_process_that_runs_one_operator_imports_few() -> None:
    program = (
        "import sys; from sardonyx._src.ops.registry import find; find('', 'Softmax'); print(*sys.modules)"
    )
    process = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    names = process.stdout.split()
    assert "sardonyx._src.ops.nn.softmax" in names
    assert not [
        name for name in names if name.startswith(("sardonyx._src.ops.ml.", "sardonyx._src.ops.text."))
    ]
