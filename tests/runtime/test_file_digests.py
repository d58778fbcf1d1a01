"""Digests of files: the same for any number of threads, also if the system refuses threads or a file ends early."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import pytest

from sardonyx._src.errors import LimitError
from sardonyx._src.runtime.identity import file_digests
from sardonyx._src.runtime.identity.file_digests import hash_blocks

CONTENT = bytes(range(256)) * 40
BLOCK = 1000


@pytest.fixture
def descriptor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """A descriptor of a file of eleven blocks, the last one partial."""
    monkeypatch.setattr(file_digests, "BLOCK_BYTES", BLOCK)
    (tmp_path / "data").write_bytes(CONTENT)
    fd = os.open(tmp_path / "data", os.O_RDONLY)
    yield fd
    os.close(fd)


def expected_digest() -> str:
    blocks = (CONTENT[i : i + BLOCK] for i in range(0, len(CONTENT), BLOCK))
    return hashlib.sha256(b"".join(hashlib.sha256(block).digest() for block in blocks)).hexdigest()


@pytest.mark.parametrize("threads", [1, 2, 3, 20])
def test_the_digest_is_that_of_the_digests_of_blocks(descriptor: int, threads: int) -> None:
    assert hash_blocks(descriptor, len(CONTENT), threads) == expected_digest()


@pytest.mark.parametrize("allowed", [0, 1])
def test_fewer_threads_hash_all_blocks(
    descriptor: int, allowed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that were started have ended when the function returns: the caller closes the file."""
    started: list[Thread] = []

    def start(thread: Thread) -> None:
        if len(started) == allowed:
            raise LimitError("threads", limit="RLIMIT_NPROC")
        started.append(thread)
        thread.start()

    monkeypatch.setattr(file_digests, "start_thread", start)
    assert hash_blocks(descriptor, len(CONTENT), 4) == expected_digest()
    assert len(started) == allowed and not any(thread.is_alive() for thread in started)


@pytest.mark.parametrize("threads", [1, 3])
def test_a_file_that_ends_early_has_no_digest(descriptor: int, threads: int) -> None:
    assert hash_blocks(descriptor, len(CONTENT) + 1, threads) is None


@pytest.mark.parametrize("threads", [1, 3])
def test_a_read_that_fails_is_no_digest(
    descriptor: int, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> bytes:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(file_digests, "hash_block", refuse)
    assert hash_blocks(descriptor, len(CONTENT), threads) is None
