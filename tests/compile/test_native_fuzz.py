"""Graphs made by chance on the native engine: what the reference engine makes of them, in any order of runs."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest

import sardonyx as sx
from compile.agreement import agrees, holds, outcome, results
from compile.random_layers import sample
from sardonyx._src.runtime.session import Port

GRAPHS, GROUP = 120, 20


@pytest.mark.parametrize("first", range(0, GRAPHS, GROUP))
def test_graphs_made_by_chance_are_computed_as_the_reference_engine_does(first: int) -> None:
    for seed in range(first, first + GROUP):
        agrees(sample(seed))


@pytest.mark.parametrize("first", range(10_000, 10_040, GROUP))
def test_lengths_that_do_not_fit_are_refused_as_the_reference_engine_refuses_them(first: int) -> None:
    """Lengths that no node was tried with: both engines answer, or both raise the same error.

    But where there are no elements the native engine may not look at what would be wrong with them.
    """
    for seed in range(first, first + GROUP):
        made = sample(seed)
        native, reference = (sx.Session(made.model, engine=e) for e in ("native", "reference"))
        for lengths in ({"N": 0, "M": 1}, {"N": 1, "M": 4}, {"N": 23, "M": 0}):
            fed = {port.name: np.ones(dims_of(port, lengths), np.float32) for port in native.inputs}
            mine, theirs = outcome(native, fed), outcome(reference, fed)
            if isinstance(theirs, str) and 0 in lengths.values() and not isinstance(mine, str):
                continue
            if isinstance(theirs, str) or isinstance(mine, str):
                assert mine == theirs, f"seed {seed}, lengths {lengths}"
            else:
                assert [a.shape for a in mine.values()] == [a.shape for a in theirs.values()], f"seed {seed}"


def dims_of(port: Port, lengths: Mapping[str, int]) -> list[int]:
    return [dim if isinstance(dim, int) else lengths[str(dim)] for dim in port.shape or ()]


@pytest.mark.parametrize("first", range(20_000, 20_020, 10))
def test_sessions_run_in_several_threads_at_once(first: int) -> None:
    for seed in range(first, first + 10):
        made = sample(seed)
        session = sx.Session(made.model, engine="native", threads=2)
        with ThreadPoolExecutor(4) as pool:
            turns = [turn % len(made.feeds) for turn in range(24)]
            found = list(pool.map(partial(results, session), [made.feeds[turn] for turn in turns]))
        for turn, one in zip(turns, found, strict=True):
            holds(one, made, turn, f"seed {seed}, feeds {turn}")
