"""Cores and caches as /sys describes them, of trees made for the test."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from sardonyx._src.runtime.limits.topology import (
    CacheLevel,
    CoreKind,
    Topology,
    parse_list,
    parse_size,
    read_topology,
)

CPU = "sys/devices/system/cpu/cpu"


def tree(root: Path, files: Mapping[str, str]) -> Path:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content + "\n")
    return root


def processor(number: int, siblings: str, l2: str = "1024K", l3_shared: str = "0-3") -> dict[str, str]:
    """The files of a logical processor with three levels of caches."""
    caches = [
        ("1", "Data", "32K", siblings),
        ("1", "Instruction", "64K", siblings),
        ("2", "Unified", l2, siblings),
        ("3", "Unified", "32M", l3_shared),
    ]
    files = {f"{CPU}{number}/topology/thread_siblings_list": siblings}
    for i, (level, kind, size, shared) in enumerate(caches):
        fields = {
            "level": level, "type": kind, "size": size, "shared_cpu_list": shared, "coherency_line_size": "64",
        }  # fmt: skip
        files |= {f"{CPU}{number}/cache/index{i}/{name}": text for name, text in fields.items()}
    return files


def test_threads_of_a_core_are_one_core(tmp_path: Path) -> None:
    files: dict[str, str] = {}
    for number in range(4):
        files |= processor(number, f"{number % 2},{number % 2 + 2}")
    topology = read_topology(tree(tmp_path, files))
    assert topology == Topology(
        processors=(0, 1, 2, 3),
        cores=2,
        kinds=(),
        caches=(
            CacheLevel(1, 32 << 10, 64, 2),
            CacheLevel(2, 1 << 20, 64, 2),
            CacheLevel(3, 32 << 20, 64, 4),
        ),
    )
    assert [topology.cache_bytes(level) for level in (1, 2, 3, 4)] == [32 << 10, 1 << 20, 32 << 20, 0]


def test_kinds_of_intel_are_named(tmp_path: Path) -> None:
    files = {"sys/devices/cpu_core/cpus": "0-1", "sys/devices/cpu_atom/cpus": "2-3"}
    for number in range(4):
        files |= processor(number, str(number) if number > 1 else "0-1", "1280K" if number < 2 else "2M")
    topology = read_topology(tree(tmp_path, files))
    assert topology.cores == 3
    assert topology.kinds == (CoreKind("performance", (0, 1)), CoreKind("efficiency", (2, 3)))
    assert [cache.bytes for cache in topology.caches if cache.level == 2] == [1280 << 10, 2 << 20]


def test_kinds_of_arm_have_capacities(tmp_path: Path) -> None:
    files: dict[str, str] = {}
    for number, capacity in enumerate(("446", "1024", "446", "1024")):
        files |= {**processor(number, str(number)), f"{CPU}{number}/cpu_capacity": capacity}
    kinds = read_topology(tree(tmp_path, files)).kinds
    assert kinds == (CoreKind("capacity 1024", (1, 3)), CoreKind("capacity 446", (0, 2)))


def test_equal_capacities_are_no_kinds(tmp_path: Path) -> None:
    files = {f"{CPU}{number}/cpu_capacity": "1024" for number in range(2)}
    files |= {**processor(0, "0"), **processor(1, "1")}
    assert read_topology(tree(tmp_path, files)).kinds == ()


def test_processors_that_are_offline_do_not_count(tmp_path: Path) -> None:
    files = {**processor(0, "0"), f"{CPU}1/online": "0", f"{CPU}idle/x": "1"}
    assert read_topology(tree(tmp_path, files)).processors == (0,)


def test_a_system_that_says_nothing_has_an_empty_topology(tmp_path: Path) -> None:
    assert read_topology(tmp_path) == Topology()


@pytest.mark.parametrize(
    ("text", "numbers"),
    [("0", [0]), ("0-3,8", [0, 1, 2, 3, 8]), ("", []), ("x", []), ("1-", []), ("3-1", [])],
)
def test_lists_are_parsed(text: str, numbers: list[int]) -> None:
    assert parse_list(text) == numbers


@pytest.mark.parametrize(("text", "count"), [("32K", 32768), ("2M", 2 << 20), ("64", 64), ("", 0), ("K", 0)])
def test_sizes_are_parsed(text: str, count: int) -> None:
    assert parse_size(text) == count
