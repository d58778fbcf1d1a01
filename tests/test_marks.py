"""The marks that conftest.py assigns by folder and file."""

from __future__ import annotations

from collections import Counter

import pytest

from conftest import MARKS, TESTS


@pytest.mark.parametrize(
    "beginning", sorted({beginning for beginnings in MARKS.values() for beginning in beginnings})
)
def test_a_mark_is_given_to_files_that_exist(beginning: str) -> None:
    paths = (path.relative_to(TESTS).as_posix() for path in TESTS.rglob("test_*.py"))
    assert any(path.startswith(beginning) for path in paths)


def test_random_tests_are_marked() -> None:
    """The tests that `make fuzz` runs are those that take their seeds from `sampling`."""
    sources = (path for path in TESTS.rglob("test_*.py") if path.name != "test_marks.py")
    random = [p for p in sources if "from sampling import" in p.read_text(encoding="utf-8")]
    assert random and all(p.relative_to(TESTS).as_posix().startswith(MARKS["fuzz"]) for p in random)


def test_files_of_tests_have_different_names() -> None:
    """Pytest imports them by name from folders that are no packages: the second one of a name is an error."""
    names = Counter(path.name for path in TESTS.rglob("test_*.py"))
    assert [name for name, count in names.items() if count > 1] == []
