"""Every kernel writes exactly its results, for every remainder of its sizes, on every class of targets."""

from __future__ import annotations

import re
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path

import pytest

from compile.contracts.contract import Contract, check_contract
from sardonyx._src.compile import kernels
from source_facts import facts_of

FOLDER = Path(__file__).parent
PACKAGE = kernels.__name__
FAMILIES = [path for path in sorted(FOLDER.glob("*.py")) if not path.name.startswith("test_")]


def contracts() -> list[Contract]:
    modules = [import_module(f"compile.contracts.{path.stem}") for path in FAMILIES]
    return [contract for module in modules for contract in getattr(module, "CONTRACTS", ())]


@pytest.mark.parametrize("contract", contracts(), ids=str)
def test_contract(contract: Contract) -> None:
    check_contract(contract)


def test_every_step_of_a_kernel_has_a_contract() -> None:
    """A contract makes the step, or another step does that it makes."""
    root = Path(kernels.__path__[0])
    modules = {
        ".".join((PACKAGE, *path.relative_to(root).with_suffix("").parts)): path
        for path in root.rglob("*.py")
    }
    reached = imported_modules(FAMILIES, modules)
    while len(more := reached | imported_modules([modules[name] for name in reached], modules)) > len(
        reached
    ):
        reached = more
    makes_steps = {
        name for name, path in modules.items() if re.search(r"^def \w+_steps?\(", path.read_text(), re.M)
    }
    assert sorted(makes_steps - reached) == []


def imported_modules(paths: Iterable[Path], modules: Iterable[str]) -> set[str]:
    """The kernels' modules that files import from."""
    names = {name.rpartition(".")[0] for path in paths for name in facts_of(path).imports}
    return names & set(modules)
