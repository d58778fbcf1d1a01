"""Digests of files: what is in a file, wherever it is.

A *sample* is a hash of some pages of a file: files with different samples have different contents, which takes no time to
find out.  The digest covers all bytes.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from contextlib import suppress
from threading import Thread

from sardonyx._src.errors import InvalidModel, LimitError
from sardonyx._src.io.file_stamps import FileStamp
from sardonyx._src.io.regular_files import open_regular
from sardonyx._src.threads import start_thread

BLOCK_BYTES = 8 << 20  # bytes that one thread hashes at a time; digests depend on it
READ_BYTES = 1 << 20
SAMPLES, SAMPLE_BYTES = 16, 4096
MAX_DIGESTS = 256
# Digests by stamp, only of files that cannot change any more without changing their stamp.
DIGESTS: dict[FileStamp, str] = {}


def file_digest(stamp: FileStamp, threads: int = 1) -> str | None:
    """The digest of the file with this stamp: SHA-256 of the SHA-256 of its blocks.

    Returns None if the file has another stamp before or after it is read, or could change without changing its stamp.
    """
    digest = DIGESTS.get(stamp)
    if digest is None and not stamp.is_racily_clean:
        digest = read_unchanged(stamp, lambda fd: hash_blocks(fd, stamp.size, threads))
        if digest is not None:
            if len(DIGESTS) >= MAX_DIGESTS:
                DIGESTS.clear()
            DIGESTS[stamp] = digest
    return digest


def file_sample(stamp: FileStamp) -> str | None:
    """The hash of the size and of `SAMPLES` pages of the file with this stamp; None as for `file_digest`."""
    return None if stamp.is_racily_clean else read_unchanged(stamp, lambda fd: hash_pages(fd, stamp.size))


def read_unchanged(stamp: FileStamp, read: Callable[[int], str | None]) -> str | None:
    """What a function of the descriptor returns; None if the file cannot be read, or changes its stamp meanwhile."""
    try:
        with open_regular(stamp.path) as file:
            is_same = FileStamp.from_descriptor(stamp.path, file.fileno()) == stamp
            result = read(file.fileno()) if is_same else None
            return result if FileStamp.from_descriptor(stamp.path, file.fileno()) == stamp else None
    except (OSError, InvalidModel):  # InvalidModel: a directory, a device
        return None


def hash_pages(fd: int, size: int) -> str:
    digest = hashlib.sha256(str(size).encode())
    for i in range(SAMPLES):
        digest.update(os.pread(fd, SAMPLE_BYTES, max(size - SAMPLE_BYTES, 0) * i // (SAMPLES - 1)))
    return digest.hexdigest()


def hash_blocks(fd: int, size: int, threads: int) -> str | None:
    """The digest of an open file; None if a read fails.  threads: the largest number of threads, this one included."""
    blocks: list[bytes] = [b""] * -(-size // BLOCK_BYTES)
    numbers = iter(range(len(blocks)))  # shared: each thread takes the next block

    def hash_some() -> None:
        buffer = memoryview(bytearray(READ_BYTES))
        with suppress(OSError):
            for i in numbers:
                blocks[i] = hash_block(fd, i * BLOCK_BYTES, min(size, (i + 1) * BLOCK_BYTES), buffer)

    others: list[Thread] = []
    with suppress(LimitError):  # fewer threads take more blocks each
        for _ in range(1, threads):
            thread = Thread(target=hash_some, name="sardonyx-hash")
            start_thread(thread)
            others.append(thread)
    hash_some()
    for thread in others:  # the caller closes the file
        thread.join()
    return hashlib.sha256(b"".join(blocks)).hexdigest() if all(blocks) else None


def hash_block(fd: int, start: int, end: int, buffer: memoryview) -> bytes:
    """The hash of the bytes from `start` to `end`; empty if the file ends before."""
    digest = hashlib.sha256()
    while start < end:
        count = os.preadv(fd, [buffer[: end - start]], start)
        if count == 0:
            return b""
        digest.update(buffer[:count])
        start += count
    return digest.digest()
