"""Products of heads are written as the Transpose after them reads them, so that merging the heads copies nothing."""

from __future__ import annotations

import numpy as np
import pytest

import sardonyx as sx
from compile.stage_text import kernel_names
from compile.stages import stages_of
from models import parse_model

SIZES = {"s": (2, 3, 5, 7), "v": (2, 3, 7, 18), "r": (2, 3, 5, 18), "w": (54, 20)}
TEXT = """g (float[{b},3,5,7] s, float[{b},3,7,18] v, float[{b},3,5,18] r, float[54,20] w) => (float[{b},5,20] y) {{
  p = MatMul(s, v) q = Add(p, r) c = Relu(q) t = Transpose<perm = [{perm}]>(c)
  shape = Constant<value = int64[3] {{0, 5, 54}}>() m = Reshape(t, shape) y = MatMul(m, w)
}}"""


@pytest.mark.parametrize("batch", [2, "B"])
def test_merged_heads_are_not_copied(batch: object) -> None:
    text = TEXT.format(b=batch, perm="0, 2, 1, 3")
    names = kernel_names(stages_of(text).program)
    assert not any(name.startswith("copy") for name in names)
    model, draw = parse_model(text), np.random.default_rng(1)
    feeds = {name: draw.normal(size=size).astype(np.float32) for name, size in SIZES.items()}
    expected = sx.Session(model, engine="reference").run(feeds)["y"]
    for threads in (1, 2):
        actual = sx.Session(model, engine="native", threads=threads).run(feeds)["y"]
        np.testing.assert_allclose(actual, expected, 1e-5, 1e-4)


def test_other_transpositions_read_a_dense_product() -> None:
    text = TEXT.format(b=2, perm="0, 3, 1, 2").replace("{0, 5, 54}", "{2, 5, 54}")
    (region,) = [r for r in stages_of(text).regions.regions if "p" in r.node_names]
    assert str(region.writes[0].layout) == "dense"
