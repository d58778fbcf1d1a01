"""The recipes of DEVELOPMENT.md, followed to the letter in a copy of the sources: what each adds works without `make regen`.

A fenced block names the file that it creates, or the line after which it is inserted.  The recipe's own test file, or its
`sh` block, must pass.  A recipe builds on those before it.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
COPIED = ("src", "tests", "tools", "pyproject.toml")
FENCE = re.compile(r"^```(\w+) ?(.*?)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
INSERTION = re.compile(r"(\S+) after `(.+)`")


@dataclass(frozen=True)
class Recipe:
    """A section of the page.  blocks: what is added where; commands: what must succeed afterwards."""

    title: str
    blocks: tuple[tuple[str, str], ...]
    commands: tuple[tuple[str, ...], ...]


def read_recipes() -> list[Recipe]:
    page = (ROOT / "DEVELOPMENT.md").read_text()
    section = page.split("\n## Recipes\n")[1].split("\n## ")[0]
    return [parse_recipe(text) for text in section.split("\n### ")[1:]]


def parse_recipe(text: str) -> Recipe:
    blocks, commands = [], []
    for language, place, content in FENCE.findall(text):
        if language == "sh":
            commands += [tuple(shlex.split(line)) for line in content.splitlines()]
        else:
            blocks.append((place, content))
            if Path(place).name.startswith("test_"):
                commands.append(("python", "-m", "pytest", place))
    return Recipe(text.partition("\n")[0], tuple(blocks), tuple(commands))


RECIPES = read_recipes()


@pytest.fixture
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the sources."""
    folder = tmp_path_factory.mktemp("recipes")
    for name in COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, folder / name)
    return folder


def apply(place: str, content: str, folder: Path) -> None:
    """Creates the file of a block, or inserts the block after the first line that starts with the quoted text."""
    insertion = INSERTION.fullmatch(place)
    if insertion is None:
        path = folder / place
        assert not path.exists(), f"{place} exists already"
        assert path.parent.is_dir(), f"{place} would be in a new folder"
        path.write_text(content)
        return
    path = folder / insertion[1]
    lines = path.read_text().splitlines(keepends=True)
    matches = [i for i, line in enumerate(lines) if line.startswith(insertion[2])]
    assert matches, f"no line of {insertion[1]} starts with {insertion[2]!r}"
    lines.insert(matches[0] + 1, content)
    path.write_text("".join(lines))


def test_the_page_has_a_recipe_for_each_kind_of_addition() -> None:
    kinds = "operator elementwise gradient lowering fusion rule fix pass verb".split()
    assert len(RECIPES) == len(kinds)
    for kind, recipe in zip(kinds, RECIPES, strict=True):
        assert kind in recipe.title
        assert recipe.blocks
        assert recipe.commands


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.title)
def test_following_the_recipe_works(recipe: Recipe, copy: Path) -> None:
    follow(RECIPES[: RECIPES.index(recipe) + 1], copy)
    for program, *arguments in recipe.commands:
        assert program == "python"
        run_python(*arguments, "-q", "-p", "no:cacheprovider", folder=copy)


def test_the_generated_files_are_written_after_all_recipes(copy: Path) -> None:
    follow(RECIPES, copy)
    run_python("tools/regen.py", folder=copy)
    added = {
        "operators": "| Log1p |",
        "gradients": "Log1p-1",
        "rules": "SX299",
        "passes": "drop-double-negation",
    }
    for page, text in added.items():
        assert text in (copy / f"docs/generated/{page}.md").read_text()


def follow(recipes: Sequence[Recipe], folder: Path) -> None:
    for recipe in recipes:
        for place, content in recipe.blocks:
            apply(place, content, folder)


def run_python(*arguments: str, folder: Path) -> None:
    environment = {
        **os.environ,
        "PYTHONPATH": f"{folder / 'src'}{os.pathsep}{folder / 'tests'}",
        "SARDONYX_CACHE": "",
    }
    done = subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
