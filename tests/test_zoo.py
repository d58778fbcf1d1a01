"""Benchmark networks are seeded, finite and worth comparing; latency reports compare with the faster peer."""

from __future__ import annotations

import importlib
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sardonyx as sx
from sardonyx._src.ir import Tensor
from sardonyx._src.measure.timing import EngineTiming

BENCH = Path(__file__).resolve().parent.parent / "bench"


def import_benchmark(name: str) -> Any:
    """Imports a module of the bench folder, also where a folder of tests has one of its name."""
    sys.path.insert(0, str(BENCH))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(str(BENCH))


@pytest.fixture(scope="module")
def entries() -> Any:
    return import_benchmark("zoo.catalogue").ENTRIES


def test_a_file_is_the_same_whenever_it_is_made(entries: Any, tmp_path: Path) -> None:
    first, second = (entries["mlp_1"].path(tmp_path / name).read_bytes() for name in "ab")
    assert first == second


def test_sizes_of_an_entry_are_sizes_of_its_feeds(entries: Any, tmp_path: Path) -> None:
    for name, rows in (("mlp_1", 1), ("mlp_1000", 1000)):
        (features,) = entries[name].feeds(tmp_path).values()
        assert features.shape == (rows, 30) and features.dtype == np.float32


def test_a_perceptron_keeps_the_size_of_its_activations(entries: Any, tmp_path: Path) -> None:
    entry = entries["mlp_1000"]
    feeds = entry.feeds(tmp_path)
    session = sx.Session(entry.path(tmp_path), engine="reference")
    x = feeds["features"].astype(np.float64)
    weights = [
        t.numpy().astype(np.float64)
        for v in session.model.graph.initializers.values()
        if isinstance(t := v.initializer, Tensor)
    ]
    for matrix, bias in zip(weights[::2], weights[1::2], strict=True):
        x = np.maximum(x, 0) @ matrix.T + bias if x.shape[1] != 30 else x @ matrix.T + bias
    assert 0.1 < x.std() < 10
    # float32 rounds sums of at most 64 products: far below 1e-5 of their size
    np.testing.assert_allclose(session.run(feeds)["logits"], x, rtol=1e-5, atol=1e-5)


def test_a_stored_network_gets_weights_that_distinguish_classes(entries: Any, tmp_path: Path) -> None:
    entry = entries["shufflenet"]
    path = entry.path(tmp_path)
    graph = sx.load(path).graph
    assert not any(node.op_type == "ConstantOfShape" for node in graph.nodes)
    assert [v.name for v in graph.inputs] == ["gpu_0/data_0"]
    (scores,) = sx.Session(path, engine="reference").run(entry.feeds(tmp_path)).values()
    assert isinstance(scores, np.ndarray) and np.isfinite(scores).all()
    assert (
        scores.max() < 0.5 and scores.std() > 1e-4
    )  # of 1,000 classes, none is certain and not all are equal


def test_a_ratio_is_of_the_better_peer() -> None:
    latency = import_benchmark("latency")
    times = {"sardonyx": [2.0, 1.0, 4.0], "onnxruntime": [3.0, 4.0, 5.0], "openvino": [9.0, 3.0, 3.0]}
    timings = {e: EngineTiming(e, 1, runs, 0.0) for e, runs in times.items()}
    assert latency.Case("m", 1, timings, latency.Method()).ratio == 3 / 2
    assert latency.Case("m", 1, timings, latency.Method(least=True)).ratio == 3 / 1
    alone = latency.Case("m", 1, {"sardonyx": timings["sardonyx"]}, latency.Method())
    assert math.isnan(alone.ratio)
    assert "fails" in latency.timing_table([alone], ["sardonyx", "openvino"]).splitlines()[-1]


def test_a_mean_of_ratios_is_geometric() -> None:
    latency = import_benchmark("latency")
    cases = [
        latency.Case(
            "m",
            1,
            {"sardonyx": EngineTiming("sardonyx", 1, [1.0], 0.0), "b": EngineTiming("b", 1, [r], 0.0)},
            latency.Method(),
        )
        for r in (0.5, 8.0)
    ]
    assert "1 threads: 2.000 over 2 models, 1 of them above 1" in latency.geometric_means(cases)
