"""Holds the native engine to what the reference engine makes of graphs by chance."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import numpy as np

import sardonyx as sx
from compile.random_graphs import Made, Sample
from sardonyx._src.errors import SardonyxError
from sardonyx._src.ir.tensors import Array

ROUNDING = (
    3e-5  # of the largest element: some hundred roundings of float32, as sums of a few thousand terms take
)
OTHERWISE = 16  # how much worse than the reference engine's own float32 another order of operations may be


def agrees(sample: Sample, threads: tuple[int, ...] = (1, 2, 3)) -> None:
    """Runs a sample with so many threads: right, and the same bits.

    It runs twice over all feeds, whose lengths differ, and then time and again with those of the same lengths, each time
    in memory of their own: the last of these runs take the short way.
    """
    found: list[list[dict[str, Array]]] = []
    for count in threads:
        session = sx.Session(sample.model, engine="native", threads=count)
        turns = [*range(len(sample.feeds)), *reversed(range(len(sample.feeds))), 0, 0, 0]
        runs = [
            results(session, {name: array.copy() for name, array in sample.feeds[turn].items()})
            for turn in turns
        ]
        for turn, made in zip(turns, runs, strict=True):
            holds(made, sample, turn, f"seed {sample.seed}, {count} threads, feeds {turn}")
        found.append(runs)
    first = set(map(bits_of, found[0][: len(sample.feeds)]))
    for run in itertools.chain(*found):
        assert bits_of(run) in first, f"seed {sample.seed}: results depend on threads or on runs before"


def results(session: sx.Session, feeds: Mapping[str, Array]) -> dict[str, Array]:
    return {name: np.asarray(value) for name, value in session.run(feeds).items()}


def bits_of(run: Mapping[str, Array]) -> tuple[bytes, ...]:
    return tuple(value.tobytes() for value in run.values())


def holds(made: Mapping[str, Array], sample: Sample, run: int, where: str) -> None:
    """Asserts that each output of a run is right."""
    for name, wanted in sample.outputs.items():
        is_right(made[name], wanted, run, f"{where}, output {name}")


def is_right(found: Array, wanted: Made, run: int, where: str) -> None:
    expected, precise = wanted.arrays[run], wanted.precise[run]
    assert found.shape == expected.shape, f"{where}: {found.shape}, not {expected.shape}"
    assert found.dtype == expected.dtype, f"{where}: {found.dtype}, not {expected.dtype}"
    if wanted.is_exact:
        np.testing.assert_array_equal(found, expected, where)
        return
    finite = np.isfinite(precise)
    np.testing.assert_array_equal(found[~finite], expected[~finite], where)
    largest = float(np.abs(precise[finite]).max(initial=0.0))
    apart = float(np.abs(expected[finite] - precise[finite]).max(initial=0.0))
    allowed = ROUNDING * max(largest, 1e-3) + OTHERWISE * apart
    np.testing.assert_allclose(found[finite], precise[finite], 0, allowed, err_msg=where)


def outcome(session: sx.Session, feeds: Mapping[str, Array]) -> dict[str, Array] | str:
    """The results, or the name of the error."""
    try:
        return results(session, feeds)
    except SardonyxError as error:
        return type(error).__name__
