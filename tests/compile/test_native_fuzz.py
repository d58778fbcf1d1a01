"""Random graphs: the native engine agrees with the reference engine, in any order of runs."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest

import sardonyx as sx
from compile.random_layers import sample
from compile.reference_agreement import assert_agrees, assert_outputs_match, outcome, results
from compile.rotation import rotating_range
from sardonyx._src.runtime.session.session import SessionValue

GRAPHS, GROUP = 40, 10


@pytest.mark.parametrize("first", rotating_range(GRAPHS, GROUP))
def test_random_graphs_agree_with_the_reference_engine(first: int) -> None:
    for seed in range(first, first + GROUP):
        assert_agrees(sample(seed))


@pytest.mark.parametrize(
    "seed",
    [
        pytest.param(3688, id="a step reads the broadcast slice beside the one that it writes"),
        pytest.param(9174, id="a slice beside it of symbolic size"),
        pytest.param(3082, id="a logarithm that is zero but for rounding"),
        pytest.param(7918, id="a constant that is computed from a fixed shape"),
    ],
)
def test_graphs_of_campaigns_agree(seed: int) -> None:
    assert_agrees(sample(seed, 14), (1,))


@pytest.mark.parametrize("first", rotating_range(GROUP, GROUP))
def test_invalid_lengths_are_rejected_as_by_the_reference_engine(first: int) -> None:
    """Lengths that the sample was not generated for: both engines return results, or both raise the same error.

    For empty tensors the native engine may not detect errors in the elements.
    """
    for seed in range(first, first + GROUP):
        graph = sample(seed)
        native, reference = (sx.Session(graph.model, engine=e) for e in ("native", "reference"))
        for lengths in ({"N": 0, "M": 1}, {"N": 1, "M": 4}, {"N": 23, "M": 0}):
            feeds = {port.name: np.ones(dims_of(port, lengths), np.float32) for port in native.inputs}
            actual, expected = outcome(native, feeds), outcome(reference, feeds)
            if isinstance(expected, str) and 0 in lengths.values() and not isinstance(actual, str):
                continue
            if isinstance(expected, str) or isinstance(actual, str):
                assert actual == expected, f"seed {seed}, lengths {lengths}"
            else:
                assert [a.shape for a in actual.values()] == [a.shape for a in expected.values()], (
                    f"seed {seed}"
                )


def dims_of(port: SessionValue, lengths: Mapping[str, int]) -> list[int]:
    return [dim if isinstance(dim, int) else lengths[str(dim)] for dim in port.shape or ()]


@pytest.mark.parametrize("first", rotating_range(GROUP, GROUP))
def test_sessions_run_in_several_threads_at_once(first: int) -> None:
    for seed in range(first, first + GROUP):
        graph = sample(seed)
        session = sx.Session(graph.model, engine="native", threads=2)
        with ThreadPoolExecutor(4) as pool:
            indices = [i % len(graph.feeds) for i in range(24)]
            outputs = list(pool.map(partial(results, session), [graph.feeds[i] for i in indices]))
        for i, values in zip(indices, outputs, strict=True):
            assert_outputs_match(values, graph, i, f"seed {seed}, feeds {i}")
