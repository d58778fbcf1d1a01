"""SHA-1 digests of files, shared by all models of the process, so that an unchanged file is hashed once."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import field

from sardonyx._src.dataclass import dataclass
from sardonyx._src.io.file_stamps import FileStamp

MAX_DIGESTS = 4096  # remembered digests, the most recently used ones
BLOCK_BYTES = 1 << 18  # bytes read and hashed at a time; a block stays in the processor's cache
Blocks = Iterable[memoryview]


@dataclass(slots=True)
class Entry:
    """The digest of a file, "" until it is known; the lock makes a second thread wait for the first one."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    digest: str = ""


class FileDigests:
    """Digests by stamp.  Files that may still change without a new stamp are hashed at every call.  Thread-safe."""

    def __init__(self) -> None:
        self._entries: OrderedDict[FileStamp, Entry] = OrderedDict()
        self._lock = threading.Lock()

    def sha1(self, stamp: FileStamp, blocks: Callable[[], Blocks]) -> str:
        """The SHA-1 of the file with this stamp, in hexadecimal.  blocks: reads the content, if no digest is remembered."""
        if stamp.is_racily_clean:
            return sha1_of(blocks())
        with self._lock:
            entry = self._entries.setdefault(stamp, Entry())
            self._entries.move_to_end(stamp)
            while len(self._entries) > MAX_DIGESTS:
                self._entries.popitem(last=False)
        with entry.lock:
            if not entry.digest:
                entry.digest = sha1_of(blocks())
            return entry.digest


def sha1_of(blocks: Blocks) -> str:
    """The SHA-1 of the concatenated blocks, in hexadecimal; other threads run while a block is hashed."""
    import hashlib  # loads slowly, and only checksums need it

    digest = hashlib.sha1(usedforsecurity=False)
    for block in blocks:
        digest.update(block)
    return digest.hexdigest()


def read_blocks(fd: int) -> Blocks:
    """The content of an open file from its current position; each block is valid until the next."""
    buffer = memoryview(bytearray(BLOCK_BYTES))
    with open(fd, "rb", buffering=0, closefd=False) as file:
        while count := file.readinto(buffer):
            yield buffer[:count]


def read_and_close(fd: int) -> Blocks:
    """The content of an open file from its current position; the descriptor is closed at the end."""
    try:
        yield from read_blocks(fd)
    finally:
        os.close(fd)


FILE_DIGESTS = FileDigests()
