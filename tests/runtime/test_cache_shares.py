"""Shares of caches: of machines that the tests describe, and block sizes of programs that are opened on them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import sardonyx as sx
from sardonyx._src.compile.program.encoding.slot_bases import STATUS_BASE
from sardonyx._src.compile.program.steps.cached_count import CachedCount
from sardonyx._src.ir import Array
from sardonyx._src.runtime.limits import cache_shares
from sardonyx._src.runtime.limits.cache_shares import (
    ASSUMED_CACHES,
    caches_of_processor,
    choose_level,
    thread_share,
)
from sardonyx._src.runtime.limits.topology import CacheLevel
from sardonyx._src.runtime.saved_programs.encoded_values import decode_count, encode_count
from sardonyx._src.runtime.saved_programs.image import ProgramImage
from sardonyx._src.runtime.saved_programs.saved_engine import SavedProgram, open_image
from sardonyx._src.runtime.saved_programs.writing import save_compiled

KB, MB = 1 << 10, 1 << 20
ARM_BOARD = CacheLevel(2, MB, 64, 4)  # four cores share it; there is no third level
DESKTOP_L2, DESKTOP_L3 = CacheLevel(2, 512 * KB, 64, 2), CacheLevel(3, 32 * MB, 64, 16)


@pytest.mark.parametrize(
    ("level", "threads", "cpus", "share"),
    [
        (ARM_BOARD, 1, 4, MB),
        (ARM_BOARD, 4, 4, MB // 4),
        (ARM_BOARD, 9, 4, MB // 4),  # more threads than processors
        (DESKTOP_L2, 8, 16, 512 * KB),  # one of the two logical processors of each core
        (DESKTOP_L2, 16, 16, 256 * KB),
        (DESKTOP_L3, 8, 16, 4 * MB),
        (DESKTOP_L3, 4, 64, 32 * MB),  # four such caches
        (DESKTOP_L3, 9, 64, 32 * MB // 3),
        (DESKTOP_L3, 2, 1, 16 * MB),
    ],
)
def test_threads_are_spread_over_the_caches(level: CacheLevel, threads: int, cpus: int, share: int) -> None:
    assert thread_share(level, threads, cpus, has_neighbors=False) == share


def test_a_quota_leaves_the_share_of_a_processor() -> None:
    assert thread_share(DESKTOP_L3, 2, 64, has_neighbors=True) == 2 * MB


def test_the_last_level_may_be_that_of_a_core() -> None:
    first = CacheLevel(1, 32 * KB, 64, 1)
    assert choose_level("own", (first, ARM_BOARD)) == choose_level("last", (first, ARM_BOARD)) == ARM_BOARD
    assert choose_level("own", (first, DESKTOP_L3, DESKTOP_L2)) == DESKTOP_L2
    assert choose_level("last", (first, DESKTOP_L3, DESKTOP_L2)) == DESKTOP_L3


def test_a_system_that_states_no_caches_has_assumed_ones(tmp_path: Path) -> None:
    assert caches_of_processor(0, tmp_path) == ()
    assert choose_level("own", ()) == ASSUMED_CACHES[0]


COUNT = CachedCount("last", 12288, 131072, least=64, most=288, otherwise=288)


def test_counts_are_saved_as_their_fields() -> None:
    assert decode_count(encode_count(COUNT)) == COUNT


@pytest.mark.parametrize(
    ("position", "value", "message"),
    [
        (0, "first", "unknown cache"),
        (1, 0, "must have bytes"),
        (3, 0, "a count"),
        (5, 0, "a count"),
        (5, 300, "a count"),
    ],
)
def test_damaged_counts_are_rejected(position: int, value: object, message: str) -> None:
    entry = encode_count(COUNT)
    assert isinstance(entry, list)
    entry[position] = value  # type: ignore[call-overload]
    with pytest.raises(sx.errors.DecodeError, match=message):
        decode_count(entry)


@pytest.fixture
def share(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """The shares of all caches, which a test may change."""
    shares = {"bytes": 64 * MB}
    monkeypatch.setattr(cache_shares, "cache_share", lambda _name, _threads: shares["bytes"])
    return shares


def draw(*shape: int) -> Array:
    return np.random.default_rng(shape).normal(size=shape).astype(np.float32)


def counted_bases(image: ProgramImage) -> list[int]:
    """The indices of the bases that depend on caches."""
    return [i for i, base in enumerate(image.extra_bases, STATUS_BASE + 1) if isinstance(base, CachedCount)]


@pytest.mark.parametrize("threads", [1, 2])
def test_a_saved_program_has_the_blocks_of_the_machine_that_opens_it(
    threads: int, share: dict[str, int], tmp_path: Path
) -> None:
    """The rows of a chunk, and the row groups of a block, are other numbers; no bit of the result is."""
    weights, x = draw(1100, 130), draw(600, 1100)
    b = sx.Builder(opset=21)
    save_compiled(b.model(y=b.input("x", "float32", [600, 1100]) @ weights), tmp_path / "program.sdx")
    results, numbers = [], []
    for share["bytes"] in (64 * MB, 900_000):
        image = open_image(tmp_path / "program.sdx")
        program = SavedProgram(image, threads)
        numbers.append([int(program.bases[i]) for i in counted_bases(image)])
        results.append(sx.Session(tmp_path / "program.sdx", threads=threads).run({"x": x})["y"])
    assert len(numbers[0]) == 2 and all(few < many for few, many in zip(numbers[1], numbers[0], strict=True))
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_allclose(results[0], x.astype(np.float64) @ weights, rtol=1e-4, atol=1e-3)
