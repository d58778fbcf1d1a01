"""Concat elision with sizes that a run binds late, or that are written as other expressions than those of the Concat."""

from __future__ import annotations

import numpy as np
import pytest

from compile.native_agreement import assert_engines_agree
from compile.stages import Stages, stages_of
from sardonyx._src.ir import Array

RNG = np.random.default_rng(11)
SIZES = (
    (6, 4),
    (6, 4),
    (9, 7),
    (2, 2),
    (16, 16),
    (9, 7),
    (6, 4),
)  # of successive runs: they grow, shrink, and stay
WEIGHTS = "<float[8,8,1,1] w = {" + ",".join(f"{n:.2f}" for n in RNG.normal(0, 0.3, 64)) + "}>"
LATE_BRANCHES = {  # each ends with u; every node that reads the shape is a fallback operation
    "Reshape": "v = Reshape(x, shape)  u = Sigmoid(v)",
    "Resize": 'u = Resize <mode = "nearest"> (x, , , shape)',
    "Expand": "m = ReduceMax(x)  u = Expand(m, shape)",
    "two stages": "v = Reshape(x, shape)  a = Sigmoid(v)  b = Reshape(a, shape)  u = Add(b, a)",
}
CONCATS = {
    "late first": "y = Concat <axis = 1> (u, s)",
    "late last": "y = Concat <axis = 1> (s, u)",
    "nested": "i = Concat <axis = 1> (s, t)  y = Concat <axis = 1> (i, u, r)",
    "late and nested": "i = Concat <axis = 1> (u, s)  y = Concat <axis = 1> (i, t)",
    "a part is a residual": "c = Conv(s, w)  z = Add(c, s)  y = Concat <axis = 1> (u, s)",
    "a part is an output": "y = Concat <axis = 1> (u, s)  z = Relu(s)",
}


def feeds(height: int, width: int) -> dict[str, Array]:
    x = RNG.standard_normal((2, 8, height, width)).astype(np.float32)
    return {"x": x, "shape": np.array(x.shape)}


@pytest.mark.parametrize("concat", CONCATS)
@pytest.mark.parametrize("late", LATE_BRANCHES)
def test_parts_that_are_computed_before_the_sizes_are_bound_keep_their_elements(
    late: str, concat: str
) -> None:
    early = "s = Conv(x, w)  t = Relu(x)  r = Sigmoid(s)"
    outputs = "float[?,?,?,?] y" + (", float[?,?,?,?] z" if "z =" in CONCATS[concat] else "")
    text = f"g (float[B,8,H,W] x, int64[4] shape) => ({outputs}) {WEIGHTS} {{ {early} {LATE_BRANCHES[late]} {CONCATS[concat]} }}"
    assert_engines_agree(
        text, *(feeds(*size) for size in SIZES), fallbacks=LATE_BRANCHES[late].count(", shape")
    )


@pytest.mark.parametrize("first", ["Conv(x, w)", "MaxPool <kernel_shape = [1,1]> (x)"])
def test_channels_that_a_run_chooses_are_bound_late(first: str) -> None:
    text = f"g (float[B,8,H,W] x, bool[8] keep) => (float[?,?,?,?] y) {WEIGHTS} {{ a = {first}  b = Relu(a)  c = Compress <axis = 1> (b, keep)  y = Concat <axis = 1> (b, a, c) }}"
    keep = [RNG.random(8) < share for share in (0.5, 0.5, 0.1, 0, 1, 0.6)]
    assert_engines_agree(text, *({"x": feeds(5, 3)["x"], "keep": mask} for mask in keep))


# --- sizes as other expressions ------------------------------------------------------------------

UPSAMPLED = f"""g (float[B,8,H,W] x) => (float[?,?,?,?] y) {WEIGHTS[:-1]}, float[4] scales = {{1,1,2,2}}> {{
  s = Conv(x, w)  c = Conv(s, w)  r = Add(c, s)  d = Conv <strides = [2,2]> (r, w)
  e = Resize <mode = "nearest", coordinate_transformation_mode = "asymmetric", nearest_mode = "floor"> (d, , scales)
  u = Conv(e, w)  y = Concat <axis = 1> (u, s)
}}"""


def test_a_part_may_have_other_expressions_than_the_output() -> None:
    sizes = ((6, 4), (16, 2), (6, 4), (8, 8))  # 2 * ((h - 1) // 2 + 1) is h for even h
    assert_engines_agree(UPSAMPLED, *({"x": feeds(*size)["x"]} for size in sizes))


def test_a_part_with_other_expressions_is_written_into_its_slice() -> None:
    assert "s" not in copies(stages_of(UPSAMPLED.replace("float[?,?,?,?] y", "float[B,16,H,W] y")))


def copies(stages: Stages) -> list[str]:
    """The values that are copied between layouts."""
    return [copy.value.name for copy in stages.laid_out.copies]


def test_a_part_that_is_computed_after_the_sizes_are_bound_is_not_copied() -> None:
    text = f'g (float[B,8,H,W] x, int64[2] size) => (float[?,?,?,?] y) {WEIGHTS} {{ s = Conv(x, w)  v = Resize <mode = "nearest", axes = [2,3]> (x, , , size)  u = Conv(v, w)  a = Concat <axis = 1> (u, s)  y = Softmax <axis = 1> (a) }}'
    elided = copies(stages_of(text))
    assert "u" not in elided and "s" in elided


@pytest.mark.parametrize("order", ["d, e", "e, d"])
def test_a_part_may_be_dequantized_where_the_concat_reads_it(order: str) -> None:
    text = f"""g (float[B,8,H,W] x) => (float[?,?,?,?] y) <float s = {{0.125}}, uint8 z = {{9}}, float[8,8,1,1] w = {{{",".join(f"{n:.2f}" for n in RNG.normal(0, 0.3, 64))}}}> {{
      c = Conv(x, w)  q = QuantizeLinear(c, s, z)  d = DequantizeLinear(q, s, z)
      e = Conv(d, w)  k = Concat <axis = 1> ({order})  y = Relu(k)
    }}"""
    # small multiples of a quarter are exact: no engine rounds another way
    image = RNG.integers(-8, 8, (2, 8, 6, 4)).astype(np.float32) / 4
    assert_engines_agree(text.replace(WEIGHTS, ""), {"x": image})
