"""Disk cache of object code, for the kernels of later processes.

An entry is a file named by the hash of its source and target.  It begins with the hash of its name and content, so
that a torn, damaged or copied entry is recognized, and compiled again.  Since entries are executed, an entry is only
used if no other user can have written it.  Files are written under a temporary name and renamed, so that concurrent
processes do no harm.  When the folder exceeds its cap, the least recently used entries are removed.
"""

from __future__ import annotations

import hashlib
import os
import sys
import time
from contextlib import suppress
from functools import cache
from pathlib import Path

from sardonyx._src.dataclass import dataclass
from sardonyx._src.io.private_files import (
    NotPrivateError,
    make_private_folder,
    open_private_file,
)
from sardonyx._src.logs import get_logger

ENTRY_VERSION = "2"  # the version of the file layout; a change makes older entries unreachable
MAX_CACHE_BYTES = 256 << 20
ABANDONED_AFTER = 3600  # seconds; the writer of an older temporary file has died
TRIM_INTERVAL = 16  # a process looks at the size of the folder after adding a sixteenth of the cap
BYTES_ADDED: dict[Path, int] = {}  # by this process to each folder, since it last looked at the folder
WARNED_OF: set[str] = set()  # paths that other users may have written to, and that a warning has named
DIGEST_BYTES = hashlib.sha256().digest_size
log = get_logger(__name__)


def default_folder() -> Path | None:
    """The cache folder: `SARDONYX_CACHE`, or else the user's cache folder; None if `SARDONYX_CACHE` is empty.

    The folders are those of `platformdirs.user_cache_path("sardonyx", appauthor=False, opinion=False)`, as a test
    checks.  Importing platformdirs would cost 6 to 9 ms of processor time (it loads tempfile, shutil and random),
    this function costs 0.04 ms; a session of a cached program opens in about 110 ms on the same machine.
    """
    override = os.environ.get("SARDONYX_CACHE")
    if override is not None:
        return Path(override) if override else None
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local"))
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME", "").strip() or Path.home() / ".cache")
    return base / "sardonyx"


def shared_folders() -> list[Path]:
    """The cache folders that this process only reads: those in `SARDONYX_SHARED_CACHE`."""
    return [Path(name) for name in os.environ.get("SARDONYX_SHARED_CACHE", "").split(os.pathsep) if name]


@dataclass(frozen=True, slots=True)
class ObjectCache:
    """A folder of object code; a failure of the folder only means that kernels are compiled again."""

    folder: Path
    cap: int = MAX_CACHE_BYTES

    def get(self, target: str, source: str) -> bytes | None:
        """The object code for this source and target; None if there is no intact entry."""
        path = self.path(target, source)
        try:
            with open_private_file(path) as file:
                content = file.read()
            with suppress(OSError):  # the folder may be read-only
                os.utime(path)  # for least-recently-used trimming
        except OSError as error:
            warn_not_private(error)
            return None
        if digest_entry(path, content[DIGEST_BYTES:]) != content[:DIGEST_BYTES]:
            log.warning("the cached kernel %s is damaged and will be compiled again", path)
            return None
        return content[DIGEST_BYTES:]

    def has(self, target: str, source: str) -> bool:
        """Whether there is an entry for this source and target, intact or not."""
        return self.path(target, source).exists()

    def put(self, target: str, source: str, code: bytes) -> None:
        """Adds object code; does nothing if the folder cannot be written to."""
        path = self.path(target, source)
        temporary = self.folder / f"{os.urandom(8).hex()}.tmp"
        try:
            make_private_folder(self.folder)
            with open(temporary, "xb", opener=open_private) as file:
                file.write(digest_entry(path, code))
                file.write(code)
            os.replace(temporary, path)
            if self.count_bytes(DIGEST_BYTES + len(code)):
                self.trim()
        except OSError as error:
            warn_not_private(error)
            log.info("compiled kernels are not cached in %s: %s", self.folder, error)
            with suppress(OSError):  # a part of it would fill a disk that is almost full
                temporary.unlink()

    def path(self, target: str, source: str) -> Path:
        name = hashlib.sha256("\n".join((ENTRY_VERSION, target, source)).encode()).hexdigest()
        return self.folder / f"{name}.o"

    def count_bytes(self, size: int) -> bool:
        """Counts `size` more bytes; returns whether it is time to trim the folder, which resets the count.

        Bytes that other processes add are noticed at the next trim.
        """
        added = BYTES_ADDED.get(self.folder, self.cap) + size
        is_due = added * TRIM_INTERVAL >= self.cap
        BYTES_ADDED[self.folder] = 0 if is_due else added
        return is_due

    def trim(self) -> None:
        """Removes the least recently used entries until the rest fits in the cap, and temporary files of dead writers."""
        now = time.time()
        for path in self.folder.glob("*.tmp"):
            if now - path.lstat().st_mtime > ABANDONED_AFTER:
                path.unlink(missing_ok=True)
        entries = [(path.stat(), path) for path in self.folder.glob("*.o")]
        total = sum(stat.st_size for stat, _ in entries)
        for stat, path in sorted(entries, key=lambda entry: entry[0].st_mtime):
            if total <= self.cap:
                return
            path.unlink(missing_ok=True)
            total -= stat.st_size


def digest_entry(path: Path, code: bytes) -> bytes:
    """The hash of an entry: of its name and of its code."""
    return hashlib.sha256(path.name.encode() + code).digest()


def warn_not_private(error: OSError) -> None:
    """Logs a warning, once per file or folder, if the error is that other users may have written to it."""
    if isinstance(error, NotPrivateError) and error.filename not in WARNED_OF:
        WARNED_OF.add(error.filename)
        log.warning("the cache does not use %s: %s", error.filename, error.strerror)


def open_private(path: str, flags: int) -> int:
    """Opens a file that only the user may read and write: it holds code that will run."""
    return os.open(path, flags, 0o600)


def default_cache() -> ObjectCache | None:
    """The cache of this process; None if caching is disabled."""
    return cache_for(os.environ.get("SARDONYX_CACHE"))


@cache
def cache_for(override: str | None) -> ObjectCache | None:
    """The cache for a value of `SARDONYX_CACHE`."""
    folder = default_folder()
    return None if folder is None else ObjectCache(folder)
