"""Constants written by several threads: the same file as by one, in order or not, and errors of any thread are raised."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest

from sardonyx._src.compile.program.operands import lazy_constants
from sardonyx._src.compile.program.operands.lazy_constants import LazyConstant
from sardonyx._src.io.saving.staging import Staging
from sardonyx._src.ir import Array
from sardonyx._src.runtime.saved_programs import constant_writer
from sardonyx._src.runtime.saved_programs.constant_writer import ConstantWriter
from sardonyx._src.runtime.saved_programs.word_sum import word_sum

BYTES = np.random.default_rng(5).integers(0, 256, 1000, np.uint8)
SOURCE = np.arange(6000, dtype=np.float32).reshape(1000, 6)


def triple_rows(rows: Array, first: int) -> None:
    np.multiply(SOURCE[first : first + len(rows)], 3, rows)


LAZY = LazyConstant((1000, 6), 1, SOURCE, triple_rows)


def write(folder: Path, constants: list[tuple[int, Array | LazyConstant]]) -> tuple[bytes, int]:
    """The file, and the checksum that the writer returns."""
    with Staging(str(folder)) as staging:
        with staging.create(["w"]) as file:
            checksum = ConstantWriter(file, constants).write(sum(c.nbytes for _, c in constants))
        staging.commit()
    return (folder / "w").read_bytes(), checksum


@pytest.mark.parametrize("threads", [1, 3])
def test_threads_write_the_bytes_of_all_constants(
    threads: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lazy_constants, "MAX_CHUNK_BYTES", 100)  # less than five rows
    monkeypatch.setattr(constant_writer, "MIN_PARALLEL_BYTES", 1)
    monkeypatch.setattr(constant_writer, "available_threads", lambda: threads)
    content, checksum = write(tmp_path, [(0, BYTES), (1003, LAZY), (26_000, BYTES[:0]), (26_001, BYTES[:7])])
    expected = bytearray(26_008)
    expected[:1000], expected[1003:25_003], expected[26_001:] = (
        BYTES.data,
        (SOURCE * 3).tobytes(),
        BYTES[:7].data,
    )
    assert content == expected
    assert checksum == int(np.frombuffer(expected, "<u8").sum(dtype=np.uint64))
    assert checksum == word_sum(np.frombuffer(content, np.uint8), 0)


@pytest.mark.parametrize("size", [0, 1, 7, 8, 9, 40])
def test_the_checksum_of_parts_is_that_of_the_whole(size: int) -> None:
    for offset in range(9):
        padded = np.zeros(64, np.uint8)
        padded[offset : offset + size] = BYTES[:size]
        assert word_sum(BYTES[:size], offset) == int(padded.view("<u8").sum(dtype=np.uint64))


def test_the_checksum_depends_on_every_byte() -> None:
    for place in range(100):
        damaged = BYTES[:100].copy()
        damaged[place] ^= 0x40
        assert word_sum(damaged, 8) != word_sum(BYTES[:100], 8)


@pytest.mark.parametrize("failing", [0, 1])
def test_an_error_of_any_thread_is_raised(
    failing: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """failing: 0 for the calling thread, 1 for the other one."""
    monkeypatch.setattr(constant_writer, "MIN_PARALLEL_BYTES", 1)
    monkeypatch.setattr(constant_writer, "available_threads", lambda: 2)
    monkeypatch.setattr(lazy_constants, "MAX_CHUNK_BYTES", 24)
    caller, both = threading.get_ident(), threading.Barrier(2, timeout=10)

    def compute_rows(rows: Array, first: int) -> None:
        if first < 2:
            both.wait()  # each thread has one chunk
            if (threading.get_ident() != caller) == bool(failing):
                raise OSError(28, "no space left")
        rows[:] = 0

    with pytest.raises(OSError, match="no space"):
        write(tmp_path, [(0, LazyConstant((1000, 6), 1, SOURCE, compute_rows))])
    assert not (tmp_path / "w").exists()
