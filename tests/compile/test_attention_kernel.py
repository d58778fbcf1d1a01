"""Attention kernels of any size and strides match NumPy in double precision."""

from __future__ import annotations

import ctypes
import dataclasses
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from compile import guarded
from compile.vector_runs import apply_loop, loop, ulps
from sardonyx._src.compile.codegen.math.function import VectorFunctionDefinitions
from sardonyx._src.compile.kernels.attention.attention import attention_steps
from sardonyx._src.compile.kernels.attention.online_softmax import exp_nonpositive
from sardonyx._src.compile.kernels.attention.scores import (
    SCALED_SCORES,
)
from sardonyx._src.compile.llvm.jit import host_target, load
from sardonyx._src.compile.program import Kernel, Step, TensorView
from sardonyx._src.ir import Array
from sardonyx._src.ir.dims import symbol


def assert_close(result: Array, expected: Array) -> None:
    """Tolerance: scores are sums of tens of rounded products, and their error is a relative error of the weights."""
    np.testing.assert_allclose(result, expected, 2e-5, 2e-6)


def random_array(*shape: int, seed: int = 1) -> Array:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def reference_attention(
    q: Array,
    k: Array,
    v: Array,
    scale: float,
    mask: Array | None = None,
    *,
    causal: bool = False,
    past: int = 0,
    left: int | None = None,
    cap: float = 0.0,
    lengths: Array | None = None,
) -> Array:
    """softmax(scale * q * k' + mask) * v in double precision; NaN for queries whose keys are all masked."""
    groups = q.shape[1] // max(k.shape[1], 1)
    k, v = (np.repeat(tensor.astype(np.float64), groups, axis=1) for tensor in (k, v))
    scores = scale * (q.astype(np.float64) @ k.swapaxes(2, 3))
    if cap:
        scores = cap * np.tanh(scores / cap)
    if mask is not None:
        scores = scores + (np.where(mask, 0, -np.inf) if mask.dtype == bool else mask)
    query, key = np.ogrid[: q.shape[2], : k.shape[2]]
    first = np.full(len(q), past) if lengths is None else lengths - q.shape[2]
    position = query + first[:, None, None, None]
    if causal:
        scores = np.where(key <= position, scores, -np.inf)
    if left is not None:
        scores = np.where(key >= position - left, scores, -np.inf)
    if lengths is not None:
        scores = np.where(key < lengths[:, None, None, None], scores, -np.inf)
    with np.errstate(invalid="ignore"):
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True, initial=-np.inf))
        result: Array = weights / weights.sum(axis=-1, keepdims=True) @ v
    return result


def with_lane_count(steps: Sequence[Step], lanes: int | None) -> list[Step]:
    """The steps compiled for vectors of `lanes` floats."""
    return [step if lanes is None else with_step_lanes(step, lanes) for step in steps]


def with_step_lanes(step: Step, lanes: int) -> Step:
    target = replace(host_target(), lanes=lanes, registers=16)
    source = step.kernel.source
    return dataclasses.replace(
        step, kernel=Kernel(f"{step.kernel.key}_{lanes}", lambda name, _: source(name, target))
    )


def run(
    q: Array,
    k: Array,
    v: Array,
    scale: float = 0.25,
    mask: Array | None = None,
    *,
    causal: bool = False,
    past: int = 0,
    lanes: int | None = None,
) -> Array:
    y = np.full((*q.shape[:3], v.shape[3]), -7, np.float32)
    named = {"q": q, "k": k, "v": v, "y": y, **({} if mask is None else {"mask": np.ascontiguousarray(mask)})}
    allocated = {name: guarded.tensor(array, name) for name, array in named.items()}
    tensors = {name: tensor for name, (tensor, _) in allocated.items()}
    step = attention_steps(
        *(tensors[name] for name in "qkvy"),
        scale=scale,
        mask=tensors.get("mask"),
        causal_offset=past + 1 if causal else None,
    )
    guarded.run(with_lane_count(step, lanes), {allocated[name][1]: array for name, array in named.items()})
    return y


def test_without_keys_the_output_is_zero() -> None:
    for queries in (2, 20):
        result = run(random_array(1, 1, queries, 4), random_array(1, 1, 0, 4), random_array(1, 1, 0, 5))
        assert (result == 0).all()


@pytest.mark.parametrize("lanes", [None, 8, 4, 1])
@pytest.mark.parametrize(
    "shape", [(2, 1, 1, 230), (1, 1, 70, 230), (2, 3, 70, 230), (1, 3, 70, 1), (1, 1, 1, 1)], ids=str
)
def test_a_float_mask_broadcasts(shape: tuple[int, ...], lanes: int | None) -> None:
    q, k, v = (
        random_array(2, 3, 70, 24, seed=1),
        random_array(2, 3, 230, 24, seed=2),
        random_array(2, 3, 230, 10, seed=3),
    )
    mask = random_array(*shape, seed=4)
    if shape[3] == 1 and shape[2] > 1:
        mask = np.ascontiguousarray(np.broadcast_to(mask, (*shape[:3], 230)))
    assert_close(run(q, k, v, mask=mask, lanes=lanes), reference_attention(q, k, v, 0.25, mask))


@pytest.mark.parametrize("queries", [1, 3, 40])
def test_masked_keys_have_no_weight_and_fully_masked_rows_are_nan(queries: int) -> None:
    q, k, v = (
        random_array(1, 2, queries, 16, seed=1),
        random_array(1, 2, 500, 16, seed=2),
        random_array(1, 2, 500, 16, seed=3),
    )
    mask = np.zeros((1, 2, queries, 500), np.float32)
    mask[..., :400] = -np.inf  # all scores of the first key blocks are -inf
    mask[0, 0, -1] = -np.inf
    result, expected = run(q, k, v, mask=mask), reference_attention(q, k, v, 0.25, mask)
    assert np.isnan(expected[0, 0, -1]).all()
    assert_close(result, expected)


@pytest.mark.parametrize("queries", [1, 40])
def test_nan_and_infinite_scores_affect_only_their_row(queries: int) -> None:
    q, k, v = (
        random_array(1, 1, queries, 8, seed=1),
        np.abs(random_array(1, 1, 250, 8, seed=2)),
        random_array(1, 1, 250, 8),
    )
    q[0, 0, -1, 0] = np.nan
    if queries > 1:
        q[0, 0, 3] = np.inf
        q[0, 0, 7] = -np.inf
    result = run(q, k, v)
    assert np.isnan(result[0, 0, -1]).all()
    assert_close(result, reference_attention(q, k, v, 0.25))


def test_keys_and_values_may_be_transposed() -> None:
    q, k, v = (
        random_array(1, 2, 40, 16, seed=1),
        random_array(1, 2, 16, 60, seed=2),
        random_array(1, 2, 16, 60, seed=3),
    )
    y = np.zeros((1, 2, 40, 16), np.float32)
    allocated = [guarded.tensor(array) for array in (q, k, v, y)]
    tensors: list[TensorView] = [tensor for tensor, _ in allocated]
    tensors[1:3] = [tensor.permute((0, 1, 3, 2)) for tensor in tensors[1:3]]
    guarded.run(
        attention_steps(*tensors, scale=0.5),
        {allocated[i][1]: array for i, array in enumerate((q, k, v, y))},
    )
    assert_close(y, reference_attention(q, k.swapaxes(2, 3), v.swapaxes(2, 3), 0.5))


def test_sizes_may_be_symbolic() -> None:
    arrays = [random_array(1, 2, 40, 16, seed=i) for i in range(3)] + [np.zeros((1, 2, 40, 16), np.float32)]
    n = symbol("n")
    allocated = [guarded.tensor(array) for array in arrays]
    symbolic = [replace(t, shape=(1, 2, n, 16), strides=(n * 32, n * 16, 16, 1)) for t, _ in allocated]
    step = attention_steps(*symbolic, scale=0.25, causal_offset=1)
    guarded.run(step, {allocated[i][1]: array for i, array in enumerate(arrays)}, {"n": 40})
    q, k, v, y = arrays
    assert_close(y, reference_attention(q, k, v, 0.25, causal=True))


@pytest.mark.parametrize("has_fma", [False, True] if host_target().has_fma else [False])
def test_exp_nonpositive_is_within_one_ulp(has_fma: bool) -> None:
    lanes = host_target().lanes
    definitions = VectorFunctionDefinitions(has_fma)
    definitions.require(exp_nonpositive, lanes)
    text = "\n".join((definitions.text(), loop(exp_nonpositive, lanes)))
    call = load(text, ["run_decay"]).function(
        "run_decay", *[ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p]
    )
    x = -np.linspace(0, 87.29, 100_001).astype(np.float32)
    x = np.concatenate([x, -np.geomspace(1e-45, 1, 1000, dtype=np.float32)])
    assert ulps(apply_loop(call, lanes, x), np.exp(x.astype(np.float64))).max() <= 1.0
    result = apply_loop(call, lanes, [-0.0, 0.0, -88, -np.inf, np.nan])
    np.testing.assert_array_equal(result, np.array([1, 1, 0, 0, np.nan], np.float32))


@pytest.mark.parametrize("lanes", [None, 8, 1])
@pytest.mark.parametrize("queries", [1, 3, 40, 70])
def test_a_bool_mask_hides_keys(queries: int, lanes: int | None) -> None:
    q, k, v = (
        random_array(2, 2, queries, 16, seed=1),
        random_array(2, 2, 150, 16, seed=2),
        random_array(2, 2, 150, 9, seed=3),
    )
    mask = np.random.default_rng(4).random((2, 1, queries, 150)) < 0.5
    assert_close(run(q, k, v, mask=mask, lanes=lanes), reference_attention(q, k, v, 0.25, mask))
    shared = np.ascontiguousarray(mask[:1, :, :1])
    assert_close(run(q, k, v, mask=shared, lanes=lanes), reference_attention(q, k, v, 0.25, shared))


@pytest.mark.parametrize("lanes", [None, 4, 1])
@pytest.mark.parametrize("queries", [1, 40])
def test_softcap_is_applied_before_the_mask(queries: int, lanes: int | None) -> None:
    q, k, v = (
        random_array(1, 2, queries, 16, seed=1),
        random_array(1, 2, 150, 16, seed=2),
        random_array(1, 2, 150, 9, seed=3),
    )
    mask = random_array(1, 1, queries, 150, seed=4)
    result = run_with_options(q, k, v, mask=mask, scale=2.0, softcap=1.5, lanes=lanes)
    assert_close(result, reference_attention(q, k, v, 2.0, mask, cap=1.5))


@pytest.mark.parametrize("lanes", [None, 8, 1])
@pytest.mark.parametrize(("queries", "past", "left"), [(70, 0, 0), (70, 130, 33), (3, 197, 1), (1, 199, 150)])
def test_causal_window_attention(queries: int, past: int, left: int, lanes: int | None) -> None:
    q, k, v = (
        random_array(1, 2, queries, 16, seed=1),
        random_array(1, 2, 200, 16, seed=2),
        random_array(1, 2, 200, 20, seed=3),
    )
    result = run_with_options(q, k, v, causal_offset=past + 1, window_offset=past - left, lanes=lanes)
    assert_close(result, reference_attention(q, k, v, 0.25, causal=True, past=past, left=left))


@pytest.mark.parametrize("lanes", [None, 8, 1])
@pytest.mark.parametrize("queries", [1, 5, 40])
def test_each_batch_may_have_its_own_length(queries: int, lanes: int | None) -> None:
    q, k, v = (
        random_array(4, 4, queries, 16, seed=1),
        random_array(4, 2, 200, 16, seed=2),
        random_array(4, 2, 200, 20, seed=3),
    )
    lengths = np.array([200, 130, 0, 3])
    for causal in (False, True):
        causal_offset = 1 - queries if causal else None
        result = run_with_options(
            q, k, v, causal_offset=causal_offset, lengths=lengths, lanes=lanes, zero_masked_rows=True
        )
        expected = reference_attention(q, k, v, 0.25, causal=causal, lengths=lengths)
        assert np.isnan(expected[2]).all()
        assert_close(result, np.where(np.isnan(expected), 0, expected))


def test_an_invalid_length_is_reported_in_the_status() -> None:
    q, k, v = random_array(3, 1, 2, 8), random_array(3, 1, 5, 8), random_array(3, 1, 5, 8)
    for wrong in (-1, 6, 1 << 62, -(1 << 63)):
        status = np.zeros(1, np.int64)
        run_with_options(
            q, k, v, lengths=np.array([5, wrong, 0]), status=status, zero_masked_rows=True, causal_offset=-1
        )
        assert status[0] == 2


@pytest.mark.parametrize("lanes", [None, 8, 1])
@pytest.mark.parametrize("kind", ["float", "bool"])
@pytest.mark.parametrize("queries", [1, 3, 40])
def test_fully_masked_rows_are_zero_with_zero_masked_rows(queries: int, kind: str, lanes: int | None) -> None:
    q, k, v = (
        random_array(1, 2, queries, 16, seed=1),
        random_array(1, 2, 200, 16, seed=2),
        random_array(1, 2, 200, 16, seed=3),
    )
    mask = np.random.default_rng(4).random((1, 2, queries, 200)) < 0.5
    mask[0, 0, -1] = False
    q[0, 0, -1, 0] = np.nan  # even if its scores are NaN
    q[0, 1, 0] = -np.inf  # whose scores are all -inf, but not by the mask
    mask_input = mask if kind == "bool" else np.where(mask, 0, -np.inf).astype(np.float32)
    with np.errstate(invalid="ignore"):
        expected = reference_attention(q, k, v, 0.25, mask)
    result = run_with_options(q, k, v, mask=mask_input, zero_masked_rows=True, lanes=lanes)
    assert (result[0, 0, -1] == 0).all() and np.isnan(result[0, 1, 0]).all()
    expected[0, 0, -1] = 0
    assert_close(result, expected)


@pytest.mark.parametrize("heads", [1, 6])
def test_query_heads_that_share_keys_have_their_own_masks(heads: int) -> None:
    q, k, v = (
        random_array(2, 6, 1, 16, seed=1),
        random_array(2, 2, 300, 16, seed=2),
        random_array(2, 2, 300, 16, seed=3),
    )
    mask = random_array(2, heads, 1, 300, seed=4)
    assert_close(run(q, k, v, mask=mask), reference_attention(q, k, v, 0.25, mask))
    assert_close(run(q, k, v), reference_attention(q, k, v, 0.25))


@pytest.mark.parametrize("lanes", [None, 8, 1])
@pytest.mark.parametrize(("queries", "heads", "groups"), [(1, 6, 3), (3, 10, 2), (2, 9, 9), (1, 40, 2)])
def test_split_kv_with_adjacent_heads(queries: int, heads: int, groups: int, lanes: int | None) -> None:
    keys, depth = 600, 20
    x = {
        "q": random_array(2, queries, heads, depth, seed=1),
        "k": random_array(2, keys, groups, depth, seed=2),
        "v": random_array(2, keys, groups, depth, seed=3),
        "y": np.zeros((2, queries, heads, depth), np.float32),
        "mask": np.random.default_rng(4).random((2, heads, queries, keys)) < 0.5,
    }
    x["mask"][0, 0, 0] = False  # no key at all
    x["mask"][1, -1, -1, 500:] = False  # none of the last chunks
    x["q"][0, 0, 0, 0] = np.nan  # its scores do not matter
    allocated = {name: guarded.tensor(array, name) for name, array in x.items()}
    tensors = {name: tensor for name, (tensor, _) in allocated.items()}
    views = [tensors[name].permute((0, 2, 1, 3)) for name in "qkvy"]
    steps = attention_steps(
        *views, scale=0.5, mask=tensors["mask"], causal_offset=keys - queries + 1, zero_masked_rows=True
    )
    guarded.run(with_lane_count(steps, lanes), {storage: x[name] for name, (_, storage) in allocated.items()})
    q, k, v, y = (x[name].transpose(0, 2, 1, 3) for name in "qkvy")
    with np.errstate(invalid="ignore"):
        expected = reference_attention(q, k, v, 0.5, x["mask"], causal=True, past=keys - queries)
    expected[0, 0, 0] = 0
    assert_close(y, expected)


@pytest.mark.parametrize("queries", [1, 3, 8, 9, 40])
def test_the_number_of_queries_may_be_symbolic(queries: int) -> None:
    q, k, v = (
        random_array(2, 6, queries, 16, seed=1),
        random_array(2, 2, 1030, 16, seed=2),
        random_array(2, 2, 1030, 16, seed=3),
    )
    y, n = np.zeros_like(q), symbol("n")
    allocated = [guarded.tensor(array) for array in (q, k, v, y)]
    symbolic = replace(allocated[0][0], shape=(2, 6, n, 16), strides=(n * 96, n * 16, 16, 1))
    result = replace(symbolic, buffer=allocated[3][1])
    steps = attention_steps(
        symbolic, allocated[1][0], allocated[2][0], result, scale=0.25, causal_offset=1031 - n
    )
    arrays = {storage: array for (_, storage), array in zip(allocated, (q, k, v, y), strict=True)}
    guarded.run(steps, arrays, {"n": queries})
    assert_close(y, reference_attention(q, k, v, 0.25, causal=True, past=1030 - queries))


def run_with_options(
    q: Array,
    k: Array,
    v: Array,
    *,
    scale: float = 0.25,
    mask: Array | None = None,
    lengths: Array | None = None,
    causal_offset: int | None = None,
    window_offset: int | None = None,
    softcap: float = 0.0,
    zero_masked_rows: bool = False,
    status: Array | None = None,
    scores: Array | None = None,
    stage: int = SCALED_SCORES,
    lanes: int | None = None,
) -> Array:
    """Runs attention with any of its options; `status` receives the status."""
    status = np.zeros(1, np.int64) if status is None else status
    arrays = {
        "q": q,
        "k": k,
        "v": v,
        "y": np.full((*q.shape[:3], v.shape[3]), -7, np.float32),
        "status": status,
    }
    arrays |= {
        name: array
        for name, array in (("mask", mask), ("lengths", lengths), ("scores", scores))
        if array is not None
    }
    allocated = {name: guarded.tensor(array, name) for name, array in arrays.items()}
    tensors = {name: tensor for name, (tensor, _) in allocated.items()}
    step = attention_steps(
        *(tensors[name] for name in "qkvy"),
        scale=scale,
        mask=tensors.get("mask"),
        causal_offset=causal_offset,
        window_offset=window_offset,
        lengths=tensors.get("lengths"),
        max_length=k.shape[2],
        status=tensors["status"],
        softcap=softcap,
        zero_masked_rows=zero_masked_rows,
        scores=tensors.get("scores"),
        stage=stage,
    )
    guarded.run(with_lane_count(step, lanes), {allocated[name][1]: array for name, array in arrays.items()})
    return arrays["y"]
