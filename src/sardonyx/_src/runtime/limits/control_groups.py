"""Limits that Linux control groups (cgroups) of version 1 or 2 set for this process."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path("/")


def read_group_limits(
    controller: str, unified: Sequence[str], legacy: Sequence[str], root: Path = ROOT
) -> Iterator[list[str]]:
    """The words in the files of a controller, for each group of this process and each enclosing group.

    controller: "cpu", "memory", ...
    unified, legacy: the names of the files in version 2 and in version 1; the words of several files are joined.
    root: the root of the file system; tests pass another one.
    """
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return  # the system is not Linux, or hides the file
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers and controller not in controllers.split(","):
            continue
        # `..` stands for a group outside of the process's namespace, which cannot be read.
        parts = [part for part in path.split("/") if part not in ("", "..")]
        names = legacy if controllers else unified
        for folder in mount_folders(root / "sys/fs/cgroup", controller, controllers):
            for depth in range(len(parts) + 1):
                group = folder.joinpath(*parts[:depth])
                yield [word for name in names for word in read_words(group / name)]


def mount_folders(mount: Path, controller: str, controllers: str) -> list[Path]:
    """The folders at which a hierarchy may be mounted.

    controllers: the controllers that its line in /proc/self/cgroup names; "" for version 2, whose line names none.
    """
    if not controllers:
        return [mount, mount / "unified"]
    return [mount / controller, mount / controllers] if controllers != controller else [mount / controller]


def read_words(path: Path | str) -> list[str]:
    """The words of a file; none if it cannot be read."""
    try:
        with open(path, "rb", buffering=0) as file:
            return file.read().decode(errors="replace").split()
    except OSError:
        return []
