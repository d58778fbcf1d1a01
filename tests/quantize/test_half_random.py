"""Random graphs in half precision: valid, within the bound, and run by onnxruntime where it has the kernels."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnxruntime as ort
import pytest

import sardonyx as sx
from compile.random_layers import sample
from quantize.precision_claims import assert_holds, change
from rewrite.test_random_graphs import ValueGenerator
from sampling import seed_range
from sardonyx._src.measure.feeds import complete_feeds

GROUP = 10


@pytest.mark.parametrize("scheme", ["float16", "bfloat16"])
@pytest.mark.parametrize("first", seed_range(0, 60, GROUP))
def test_random_layers_hold_their_bound(scheme: str, first: int) -> None:
    for seed in range(first, first + GROUP):
        graph = sample(seed)
        assert_holds(graph.model, change(graph.model, scheme, graph.feeds), scheme, graph.feeds)


@pytest.mark.parametrize("seed", seed_range(0, 20))
def test_another_runtime_computes_the_same_in_float16(seed: int, tmp_path: Path) -> None:
    model = ValueGenerator(seed).model()
    feeds = complete_feeds(model, None, seed, {"N": 2})
    result = change(model, "float16", [feeds])
    sx.save(result.model, tmp_path / "half.onnx")
    ours = sx.Session(result.model, engine="reference").run(feeds)
    session = ort.InferenceSession(tmp_path / "half.onnx", providers=["CPUExecutionProvider"])
    theirs = session.run(list(ours), feeds)
    for name, actual in zip(ours, theirs, strict=True):
        expected = np.asarray(ours[name])
        scale = float(np.abs(expected).max(initial=0.0))
        # Either may round intermediate results once more, or not: some steps of 2**-11.
        np.testing.assert_allclose(actual, expected, rtol=0, atol=scale * 2**-6, err_msg=name)
