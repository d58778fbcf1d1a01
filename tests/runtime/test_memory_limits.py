"""Memory that control groups and the machine leave a process, of trees made for the test."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtime.test_cpus import tree
from sardonyx._src.runtime.limits.memory_limits import ASSUMED_MEMORY, usable_memory

MEMINFO = "MemTotal:       1024 kB\nMemFree:         100 kB\n"


@pytest.mark.parametrize(
    ("limit", "expected"), [("4096", 4096), ("max", 1 << 20), ("", 1 << 20), ("9999999", 1 << 20)]
)
def test_the_lesser_of_group_and_machine_counts(tmp_path: Path, limit: str, expected: int) -> None:
    root = tree(tmp_path, "0::/job\n", {"job/memory.max": limit})
    (root / "proc/meminfo").write_text(MEMINFO)
    assert usable_memory(root) == expected


def test_the_least_limit_of_the_groups_around_holds(tmp_path: Path) -> None:
    files = {"a/memory.max": "3000", "a/b/memory.max": "8000", "a/b/c/memory.max": "max"}
    assert usable_memory(tree(tmp_path, "0::/a/b/c\n", files)) == 3000


def test_a_limit_of_version_1_counts(tmp_path: Path) -> None:
    files = {
        "memory/job/memory.limit_in_bytes": "5000",
        "memory/memory.limit_in_bytes": "9223372036854771712",
    }
    assert usable_memory(tree(tmp_path, "4:memory:/job\n0::/\n", files)) == 5000


def test_unknown_memory_is_assumed(tmp_path: Path) -> None:
    assert usable_memory(tmp_path) == ASSUMED_MEMORY
