"""The SHA-1 of a file while it is written: a second thread hashes each piece of data."""

from __future__ import annotations

import hashlib
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Self

from sardonyx._src.io.memory_release import iter_releasing

HASH_BLOCK_BYTES = 1 << 20


class HashingThread:
    """A context manager with a thread that hashes one piece at a time."""

    def __init__(self) -> None:
        self._digest = hashlib.sha1(usedforsecurity=False)
        self._pool = ThreadPoolExecutor(1)
        self._last: Future[None] | None = None

    def update(self, gap: int, data: memoryview) -> None:
        """Waits for the piece before, so that at most two are in memory, and begins to hash `gap` zeros and the data.

        The data must not change until they are hashed.
        """
        if self._last is not None:
            self._last.result()
        self._last = self._pool.submit(self._hash, gap, data)

    def _hash(self, gap: int, data: memoryview) -> None:
        self._digest.update(bytes(gap))
        for block in iter_releasing(data, HASH_BLOCK_BYTES):
            self._digest.update(block)

    def hexdigest(self) -> str:
        """The hash of all pieces so far, in hexadecimal."""
        if self._last is not None:
            self._last.result()
        return self._digest.hexdigest()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown()
