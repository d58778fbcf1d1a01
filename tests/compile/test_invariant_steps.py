"""Steps of a loop that compute the same in every iteration are executed once, before it."""

from __future__ import annotations

import numpy as np

import sardonyx as sx
from models import parse_model
from sardonyx._src.compile.llvm.jit import host_target
from sardonyx._src.compile.pipeline import compile_model

MODEL = """g (float[2,3] h, float[3,3] w, float[T,2,3] x) => (float[2,3] last, float[T,2,3] all) {
  last, all = Scan<num_scan_inputs = 1, body = b (float[2,3] state, float[2,3] part) => (float[2,3] next, float[2,3] copy) {
    product = MatMul(state, w) sum = Add(product, part) next = Tanh(sum) copy = Identity(next)
  }> (h, x) }"""


def test_weights_are_packed_before_the_loop() -> None:
    steps = [*compile_model(parse_model(MODEL), host_target()).program.steps]
    first_jump = next(i for i, step in enumerate(steps) if step.jump is not None)
    packing = [i for i, step in enumerate(steps) if step.kernel.key.startswith("panels")]
    assert len(packing) == 1 and packing[0] < first_jump


def test_results_are_those_of_the_reference_engine() -> None:
    native, reference = (sx.Session(parse_model(MODEL), engine=engine) for engine in ("native", "reference"))
    rng = np.random.default_rng(1)
    for length in (1, 5):
        feeds = {
            "h": rng.normal(size=(2, 3)),
            "w": rng.normal(size=(3, 3)),
            "x": rng.normal(size=(length, 2, 3)),
        }
        arrays = {name: array.astype(np.float32) for name, array in feeds.items()}
        actual, expected = native.run(arrays), reference.run(arrays)
        for name, array in expected.items():
            np.testing.assert_allclose(actual[name], array, 1e-5, 1e-6)
    assert native.stats.fallback_nodes == 0 and not native.stats.bailouts
