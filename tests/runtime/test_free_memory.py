"""Compile workers within the memory that control groups and the machine have left, of trees that the test writes."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtime.test_cpus import tree
from sardonyx._src.compile.llvm import async_compile, compile_workers
from sardonyx._src.runtime.limits import free_memory as memory
from sardonyx._src.runtime.programs import async_compilation

MIB = 1 << 20
PLENTY = "MemTotal: 99999999 kB\nMemFree: 5 kB\nMemAvailable: 67108864 kB\n"


def group(root: Path, limit: str, used: int, statistics: str = "") -> Path:
    """A machine with much memory, and a process in a group of version 2."""
    files = {"job/memory.max": limit, "job/memory.current": str(used), "job/memory.stat": statistics}
    tree(root, "0::/job\n", files)
    (root / "proc/meminfo").write_text(PLENTY)
    return root


@pytest.mark.parametrize(
    ("limit", "used", "workers"),
    [
        (512 * MIB, 60 * MIB, 1),
        (512 * MIB, 511 * MIB, 1),
        (512 * MIB, 600 * MIB, 1),
        (1024 * MIB, 100 * MIB, 3),
        (4096 * MIB, 100 * MIB, 15),
    ],
)
def test_workers_fit_in_half_of_what_a_group_has_left(
    tmp_path: Path, limit: int, used: int, workers: int
) -> None:
    assert memory.affordable_workers(group(tmp_path, str(limit), used)) == workers


def test_a_group_without_a_limit_leaves_what_the_machine_has(tmp_path: Path) -> None:
    root = group(tmp_path, "max", 0)
    assert memory.free_memory(root) == 64 << 30
    (root / "proc/meminfo").write_text("MemTotal: 9999999 kB\nMemAvailable: 300000 kB\n")
    assert memory.free_memory(root) == 300_000 * 1024
    assert memory.affordable_workers(root) == 1


def test_pages_of_files_are_given_back(tmp_path: Path) -> None:
    statistics = "anon 5\ninactive_anon 7\ninactive_file 400\nactive_file 9\n"
    assert memory.free_memory(group(tmp_path, "1000", 700, statistics)) == 700


def test_the_fullest_of_the_groups_around_counts(tmp_path: Path) -> None:
    files = {
        "a/memory.max": "9000",
        "a/memory.current": "8000",
        "a/b/memory.max": "5000",
        "a/b/memory.current": "10",
    }
    assert memory.free_memory(tree(tmp_path, "0::/a/b\n", files)) == 1000


def test_a_group_of_version_1_counts(tmp_path: Path) -> None:
    files = {
        "memory/job/memory.limit_in_bytes": "6000",
        "memory/job/memory.usage_in_bytes": "5000",
        "memory/job/memory.stat": "cache 1\ninactive_file 2\ntotal_inactive_file 30\n",
        "memory/memory.limit_in_bytes": "9223372036854771712",
        "memory/memory.usage_in_bytes": "7000",
    }
    assert memory.free_memory(tree(tmp_path, "4:memory:/job\n0::/\n", files)) == 1030


def test_unknown_memory_is_assumed_to_be_enough(tmp_path: Path) -> None:
    assert memory.affordable_workers(tmp_path) >= compile_workers.MAX_WORKERS


def test_programs_are_compiled_by_affordable_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(async_compilation, "available_cpus", lambda: 6)
    for workers in (1, 4, 20):
        monkeypatch.setattr(async_compilation, "affordable_workers", lambda workers=workers: workers)
        with async_compilation.async_compilation():
            assert async_compile.ActiveCompiler.compiler is not None
            assert async_compile.ActiveCompiler.compiler.pool.max_workers == min(workers, 6)
