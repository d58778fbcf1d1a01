"""Caches whose sizes the model names, where the entries that are inserted have them as numbers."""

import numpy as np

import sardonyx as sx
from models import parse_model

MODEL = """g (float[B,2,P,D] cache, float[B,2,N,8] new, int64[B] starts) => (float[B,2,P,8] y) {
  written = TensorScatter <axis = 2> (cache, new, starts)  y = Neg(written) }"""


def test_an_insertion_requires_the_sizes_of_the_cache() -> None:
    session = sx.Session(parse_model(MODEL, opset=24), engine="native")
    rng = np.random.default_rng(0)
    cache, new = (
        rng.normal(size=(2, 2, 5, 8)).astype(np.float32),
        rng.normal(size=(2, 2, 1, 8)).astype(np.float32),
    )
    starts = np.array([3, 1])
    expected = cache.copy()
    for i, start in enumerate(starts):
        expected[i, :, start] = new[i, :, 0]
    result = session.run({"cache": cache, "new": new, "starts": starts})["y"]
    np.testing.assert_array_equal(result, -expected)
    assert session.stats.fallback_nodes == 0
