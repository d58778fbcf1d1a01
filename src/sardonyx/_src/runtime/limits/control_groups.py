"""Limits that Linux control groups set for this process, of version 1 and version 2 hierarchies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path("/")


def read_group_limits(
    controller: str, unified: Sequence[str], legacy: Sequence[str], root: Path = ROOT
) -> Iterator[list[str]]:
    """The words in the files of a controller, for the groups of this process and those around them.

    unified, legacy: the names of the files in version 2 and in version 1; the words of several files are joined.
    """
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return  # not Linux, or hidden
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers and controller not in controllers.split(","):
            continue
        parts = [part for part in path.split("/") if part not in ("", "..")]  # `..`: outside of the namespace
        names = legacy if controllers else unified
        for folder in mount_folders(root / "sys/fs/cgroup", controller, controllers):
            for depth in range(len(parts) + 1):
                group = folder.joinpath(*parts[:depth])
                yield [word for name in names for word in read_words(group / name)]


def mount_folders(mount: Path, controller: str, controllers: str) -> list[Path]:
    """Where a hierarchy may be mounted; lines of version 2 name no controllers."""
    if not controllers:
        return [mount, mount / "unified"]
    return [mount / controller, mount / controllers] if controllers != controller else [mount / controller]


def read_words(path: Path) -> list[str]:
    """The words of a file; none if it cannot be read."""
    try:
        return path.read_text().split()
    except OSError:
        return []
