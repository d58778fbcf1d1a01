"""Compiled kernels kept on disk, for the next process.

An entry is a file named by the hash of what it was compiled from and for; it begins with the hash of its content, so
that a torn or damaged one is known and made anew.  Files are put in place whole, which makes concurrent processes
harmless.  When the folder has grown past its cap, the entries that were used longest ago go.
"""

from __future__ import annotations

import hashlib
import logging
import os
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

VERSION = "1"  # of the layout of entries; a change of it leaves older ones behind
CAP = 256 << 20  # bytes
PART = 16  # of the cap that a process puts into a folder between two looks at all of it
GROWN: dict[Path, int] = {}  # bytes put into a folder since then
DIGEST = hashlib.sha256().digest_size
log = logging.getLogger(__name__)


def default_folder() -> Path | None:
    """Where kernels are kept: `SARDONYX_CACHE`, or the user's folder for such files; None if that is set to nothing."""
    named = os.environ.get("SARDONYX_CACHE")
    if named is not None:
        return Path(named) if named else None
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local"))
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
    return base / "sardonyx"


@dataclass(frozen=True, slots=True)
class Cache:
    """A folder of compiled kernels; what goes wrong with it costs time and nothing else."""

    folder: Path
    cap: int = CAP

    def get(self, target: str, source: str) -> bytes | None:
        """The object code kept for this source and target; None if there is none that is whole."""
        path = self.path(target, source)
        try:
            content = path.read_bytes()
            os.utime(path)  # used now
        except OSError:
            return None
        if hashlib.sha256(content[DIGEST:]).digest() != content[:DIGEST]:
            log.warning("the cached kernel %s is damaged and is compiled anew", path)
            return None
        return content[DIGEST:]

    def has(self, target: str, source: str) -> bool:
        """Whether something is kept for this source and target, whole or not."""
        return self.path(target, source).exists()

    def put(self, target: str, source: str, code: bytes) -> None:
        """Keeps object code; a folder that cannot be written to keeps none."""
        path = self.path(target, source)
        temporary = self.folder / f"{os.urandom(8).hex()}.tmp"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with open(temporary, "xb", opener=private) as file:
                file.write(hashlib.sha256(code).digest())
                file.write(code)
            os.replace(temporary, path)
            if self.is_due(DIGEST + len(code)):
                self.trim()
        except OSError as error:
            log.info("compiled kernels are not kept in %s: %s", self.folder, error)

    def path(self, target: str, source: str) -> Path:
        name = hashlib.sha256("\n".join((VERSION, target, source)).encode()).hexdigest()
        return self.folder / f"{name}.o"

    def is_due(self, size: int) -> bool:
        """Whether so much was put here that the folder may be past its cap; what others put there is seen later."""
        grown = GROWN.get(self.folder, self.cap) + size
        is_due = grown * PART >= self.cap
        GROWN[self.folder] = 0 if is_due else grown
        return is_due

    def trim(self) -> None:
        """Removes the entries that were used longest ago until the others fit."""
        found = [(path.stat(), path) for path in self.folder.glob("*.o")]
        total = sum(stat.st_size for stat, _ in found)
        for stat, path in sorted(found, key=lambda pair: pair[0].st_mtime):
            if total <= self.cap:
                return
            path.unlink(missing_ok=True)
            total -= stat.st_size


def private(path: str, flags: int) -> int:
    """Opens a file that is the user's alone: it will be code."""
    return os.open(path, flags, 0o600)


@cache
def disk() -> Cache | None:
    """The cache of this process; None if nothing is kept."""
    folder = default_folder()
    return None if folder is None else Cache(folder)
