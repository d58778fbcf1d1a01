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
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
COPIED = ("src", "tests", "pyproject.toml")
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
    for earlier in RECIPES[: RECIPES.index(recipe) + 1]:
        for place, content in earlier.blocks:
            apply(place, content, copy)
    environment = {
        **os.environ,
        "PYTHONPATH": f"{copy / 'src'}{os.pathsep}{copy / 'tests'}",
        "SARDONYX_CACHE": "",
    }
    for program, *arguments in recipe.commands:
        assert program == "python"
        command = [sys.executable, *arguments, "-q", "-p", "no:cacheprovider"]
        done = subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
