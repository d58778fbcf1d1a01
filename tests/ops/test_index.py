"""Indexes: only what is about a name is imported, all of it where the index is out of date, and those of ours are whole."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sardonyx._src.compile import registry as lowerings
from sardonyx._src.ops import registry
from sardonyx._src.ops.index import FILE, Index, modules
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
    (folder / FILE).write_text(json.dumps(MODULES))
    monkeypatch.syspath_prepend(tmp_path)
    yield Index("sx_indexed", folder)
    for name in [name for name in sys.modules if name.partition(".")[0] == "sx_indexed"]:
        del sys.modules[name]


def imported() -> set[str]:
    found = (name.removeprefix("sx_indexed.") for name in sys.modules if name.startswith("sx_indexed."))
    return {name for name in found if name != "other"}


def test_only_what_is_about_a_name_is_imported(index: Index) -> None:
    assert index.bring("Neg")
    assert imported() == {"both", "other.neg"}
    assert not index.bring("Neg")
    assert not index.bring("Unknown")
    assert imported() == {"both", "other.neg"}


@pytest.mark.parametrize("change", ["added", "removed", "unwritten"])
def test_all_is_imported_where_the_index_is_out_of_date(index: Index, change: str) -> None:
    if change == "added":
        (index.folder / "new.py").touch()
    elif change == "removed":
        (index.folder / "abs.py").unlink()
    else:
        (index.folder / FILE).unlink()
    assert index.bring("Unknown")
    assert imported() == set(modules(index.folder)) >= {"both", "other.neg", "axes"}


@pytest.mark.parametrize("ours", [registry.INDEX, lowerings.INDEX, pages.INDEX], ids=lambda one: one.package)
def test_our_indexes_list_the_modules_that_there_are(ours: Index) -> None:
    assert ours.names is not None, "`make regen` writes them"


def test_a_process_that_runs_one_operator_imports_few() -> None:
    program = (
        "import sys; from sardonyx._src.ops.registry import find; find('', 'Softmax'); print(*sys.modules)"
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    names = found.stdout.split()
    assert "sardonyx._src.ops.nn.softmax" in names
    assert not [
        name for name in names if name.startswith(("sardonyx._src.ops.ml.", "sardonyx._src.ops.text."))
    ]
