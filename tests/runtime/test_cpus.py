"""Processors counted by affinity and by quotas of control groups, of trees made for the test."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sardonyx._src.compile.program.operands.lazy_constants import MAX_THREADS, available_threads
from sardonyx._src.runtime.limits import cpus
from sardonyx._src.threads import affinity_count


def tree(root: Path, groups: str, files: dict[str, str]) -> Path:
    """A file system with `/proc/self/cgroup` and files below `/sys/fs/cgroup`."""
    for name, content in {
        "proc/self/cgroup": groups,
        **{f"sys/fs/cgroup/{n}": c for n, c in files.items()},
    }.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return root


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        ("200000 100000", 2),
        ("250000 100000", 3),
        ("1000 100000", 1),
        ("max 100000", None),
        ("", None),
        ("1 0", None),
    ],
)
def test_a_quota_is_rounded_up(tmp_path: Path, limit: str, expected: int | None) -> None:
    assert cpus.cgroup_quota(tree(tmp_path, "0::/\n", {"cpu.max": limit})) == expected


def test_the_least_quota_of_the_groups_around_holds(tmp_path: Path) -> None:
    files = {"a/cpu.max": "300000 100000", "a/b/cpu.max": "800000 100000", "a/b/c/cpu.max": "max 100000"}
    assert cpus.cgroup_quota(tree(tmp_path, "0::/a/b/c\n", files)) == 3


@pytest.mark.parametrize("folder", ["cpu", "cpu,cpuacct"])
def test_a_quota_of_version_1_is_found(tmp_path: Path, folder: str) -> None:
    files = {f"{folder}/job/cpu.cfs_quota_us": "150000", f"{folder}/job/cpu.cfs_period_us": "100000"}
    groups = "3:memory:/x\n2:cpu,cpuacct:/job\n0::/\n"
    assert cpus.cgroup_quota(tree(tmp_path, groups, files)) == 2
    unbounded = files | {f"{folder}/job/cpu.cfs_quota_us": "-1"}
    assert cpus.cgroup_quota(tree(tmp_path, groups, unbounded)) is None


def test_a_path_seen_from_outside_of_its_namespace_is_held_to_the_mount(tmp_path: Path) -> None:
    assert cpus.cgroup_quota(tree(tmp_path, "0::/../../other\n", {"cpu.max": "100000 100000"})) == 1


def test_no_control_groups_are_no_bound(tmp_path: Path) -> None:
    assert cpus.cgroup_quota(tmp_path) is None


def test_there_are_at_most_as_many_as_the_affinity_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(5)), raising=False)
    monkeypatch.setattr(cpus, "quota_of_process", lambda: None)
    assert cpus.available_cpus() == 5
    monkeypatch.setattr(cpus, "quota_of_process", lambda: 3)
    assert cpus.available_cpus() == 3
    monkeypatch.setattr(cpus, "quota_of_process", lambda: 9)
    assert cpus.available_cpus() == 5
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(), raising=False)
    assert cpus.available_cpus() == 1


def test_an_affinity_that_a_sandbox_refuses_is_all_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: int) -> set[int]:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "sched_getaffinity", refuse, raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 3)
    assert affinity_count() == 3 and available_threads() == min(3, MAX_THREADS)
