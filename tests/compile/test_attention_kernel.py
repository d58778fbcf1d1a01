"""Attention of any size, from any strides, beside NumPy in double precision."""

from __future__ import annotations

import ctypes
import dataclasses
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from compile import guarded
from compile.vector_runs import applied, loop, ulps
from sardonyx._src.compile.attention.decay import decay
from sardonyx._src.compile.attention.scores import BIASED, CAPPED, PRODUCTS, WEIGHTS
from sardonyx._src.compile.attention.step import attention
from sardonyx._src.compile.llvm.jit import host, load
from sardonyx._src.compile.math.function import Definitions
from sardonyx._src.compile.step import Kernel, Step
from sardonyx._src.compile.tensor import Tensor
from sardonyx._src.ir.dims import symbol
from sardonyx._src.ir.tensors import Array

SIZES = [
    (1, 1, 1, 1, 1, 1),
    (2, 3, 5, 7, 8, 8),
    (1, 2, 70, 33, 19, 21),
    (1, 1, 49, 49, 32, 32),
    (1, 1, 34, 20, 8, 8),
    (1, 1, 47, 20, 8, 8),
    (1, 1, 20, 20, 8, 8),
    (1, 1, 64, 200, 64, 64),
    (1, 2, 17, 400, 16, 3),
    (1, 1, 33, 16, 4, 70),
    (2, 2, 1, 2100, 64, 64),
    (1, 2, 3, 18, 65, 67),
    (1, 1, 2, 3, 0, 4),
    (1, 1, 2, 3, 4, 0),
    (1, 1, 0, 3, 4, 4),
    (0, 2, 3, 3, 4, 4),
]


def close(found: Array, wanted: Array) -> None:
    """Scores are sums of tens of products, each rounded, and an error of a score is one of its exponential."""
    np.testing.assert_allclose(found, wanted, 2e-5, 2e-6)


def drawn(*shape: int, seed: int = 1) -> Array:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def expected(
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
    """softmax(scale * q * k' + mask) * v in double precision; zeros where nothing is looked at but by the mask alone."""
    groups = q.shape[1] // max(k.shape[1], 1)
    k, v = (np.repeat(one.astype(np.float64), groups, axis=1) for one in (k, v))
    scores = scale * (q.astype(np.float64) @ k.swapaxes(2, 3))
    if cap:
        scores = cap * np.tanh(scores / cap)
    if mask is not None:
        scores = scores + (np.where(mask, 0, -np.inf) if mask.dtype == bool else mask)
    query, key = np.ogrid[: q.shape[2], : k.shape[2]]
    first = np.full(len(q), past) if lengths is None else lengths - q.shape[2]
    place = query + first[:, None, None, None]
    if causal:
        scores = np.where(key <= place, scores, -np.inf)
    if left is not None:
        scores = np.where(key >= place - left, scores, -np.inf)
    if lengths is not None:
        scores = np.where(key < lengths[:, None, None, None], scores, -np.inf)
    with np.errstate(invalid="ignore"):
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True, initial=-np.inf))
        found: Array = weights / weights.sum(axis=-1, keepdims=True) @ v
    return found


def on(steps: Sequence[Step], lanes: int | None) -> list[Step]:
    """The steps on a machine whose registers hold so many floats."""
    return [one if lanes is None else narrow(one, lanes) for one in steps]


def narrow(step: Step, lanes: int) -> Step:
    target = replace(host(), lanes=lanes, registers=16)
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
    made = {name: guarded.tensor(array, name) for name, array in named.items()}
    tensors = {name: tensor for name, (tensor, _) in made.items()}
    step = attention(
        *(tensors[one] for one in "qkvy"),
        scale=scale,
        mask=tensors.get("mask"),
        ahead=past + 1 if causal else None,
    )
    guarded.run(on(step, lanes), {made[name][1]: array for name, array in named.items()})
    return y


@pytest.mark.parametrize("lanes", [None, 8, 4, 1])
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_attention_of_any_size(size: tuple[int, ...], lanes: int | None) -> None:
    batch, heads, queries, keys, depth, width = size
    q, k, v = (
        drawn(batch, heads, *rest, seed=i)
        for i, rest in enumerate([(queries, depth), (keys, depth), (keys, width)])
    )
    close(run(q, k, v, lanes=lanes), expected(q, k, v, 0.25))


def test_no_keys_leave_zeros() -> None:
    for queries in (2, 20):
        found = run(drawn(1, 1, queries, 4), drawn(1, 1, 0, 4), drawn(1, 1, 0, 5))
        assert (found == 0).all()


@pytest.mark.parametrize("lanes", [None, 8, 4, 1])
@pytest.mark.parametrize(
    "shape", [(2, 1, 1, 230), (1, 1, 70, 230), (2, 3, 70, 230), (1, 3, 70, 1), (1, 1, 1, 1)], ids=str
)
def test_a_mask_is_added_wherever_it_is_broadcast(shape: tuple[int, ...], lanes: int | None) -> None:
    q, k, v = drawn(2, 3, 70, 24, seed=1), drawn(2, 3, 230, 24, seed=2), drawn(2, 3, 230, 10, seed=3)
    mask = drawn(*shape, seed=4)
    if shape[3] == 1 and shape[2] > 1:
        mask = np.ascontiguousarray(np.broadcast_to(mask, (*shape[:3], 230)))
    close(run(q, k, v, mask=mask, lanes=lanes), expected(q, k, v, 0.25, mask))


@pytest.mark.parametrize("queries", [1, 3, 40])
def test_keys_masked_out_count_for_nothing_and_rows_without_keys_are_nan(queries: int) -> None:
    q, k, v = drawn(1, 2, queries, 16, seed=1), drawn(1, 2, 500, 16, seed=2), drawn(1, 2, 500, 16, seed=3)
    mask = np.zeros((1, 2, queries, 500), np.float32)
    mask[..., :400] = -np.inf  # the first parts of the keys have nothing above -inf
    mask[0, 0, -1] = -np.inf
    found, wanted = run(q, k, v, mask=mask), expected(q, k, v, 0.25, mask)
    assert np.isnan(wanted[0, 0, -1]).all()
    close(found, wanted)


@pytest.mark.parametrize("lanes", [None, 8, 4, 1])
@pytest.mark.parametrize(("queries", "past"), [(70, 0), (70, 130), (3, 197), (1, 199), (70, 500)])
def test_a_query_looks_back_over_the_past_and_up_to_itself(
    queries: int, past: int, lanes: int | None
) -> None:
    q, k, v = drawn(1, 2, queries, 16, seed=1), drawn(1, 2, 200, 16, seed=2), drawn(1, 2, 200, 20, seed=3)
    found = run(q, k, v, causal=True, past=past, lanes=lanes)
    close(found, expected(q, k, v, 0.25, causal=True, past=past))


@pytest.mark.parametrize("queries", [1, 40])
def test_nan_and_infinite_scores_spoil_their_own_row(queries: int) -> None:
    q, k, v = drawn(1, 1, queries, 8, seed=1), np.abs(drawn(1, 1, 250, 8, seed=2)), drawn(1, 1, 250, 8)
    q[0, 0, -1, 0] = np.nan
    if queries > 1:
        q[0, 0, 3] = np.inf
        q[0, 0, 7] = -np.inf
    found = run(q, k, v)
    assert np.isnan(found[0, 0, -1]).all()
    close(found, expected(q, k, v, 0.25))


@pytest.mark.parametrize("lanes", [None, 8, 4, 1])
@pytest.mark.parametrize("queries", [1, 2, 50])
def test_heads_are_views_of_rows_and_groups_of_them_share_keys(queries: int, lanes: int | None) -> None:
    batch, heads, groups, keys, depth = 2, 4, 2, 30, 20
    x = {
        "q": drawn(batch, queries, heads, depth, seed=1),
        "y": np.zeros((batch, queries, heads, depth), np.float32),
    }
    x |= {name: drawn(batch, keys, groups, depth, seed=i) for i, name in enumerate("kv", 2)}
    made = {name: guarded.tensor(array, name) for name, array in x.items()}
    views = {name: tensor.permuted((0, 2, 1, 3)) for name, (tensor, _) in made.items()}
    step = attention(*(views[one] for one in "qkvy"), scale=0.5)
    guarded.run(on(step, lanes), {storage: x[name] for name, (_, storage) in made.items()})
    q, k, v = (x[name].transpose(0, 2, 1, 3) for name in "qkv")
    close(x["y"].transpose(0, 2, 1, 3), expected(q, k, v, 0.5))


def test_keys_may_be_crosswise() -> None:
    q, k, v = drawn(1, 2, 40, 16, seed=1), drawn(1, 2, 16, 60, seed=2), drawn(1, 2, 16, 60, seed=3)
    y = np.zeros((1, 2, 40, 16), np.float32)
    made = [guarded.tensor(array) for array in (q, k, v, y)]
    tensors: list[Tensor] = [tensor for tensor, _ in made]
    tensors[1:3] = [tensor.permuted((0, 1, 3, 2)) for tensor in tensors[1:3]]
    guarded.run(attention(*tensors, scale=0.5), {made[i][1]: array for i, array in enumerate((q, k, v, y))})
    close(y, expected(q, k.swapaxes(2, 3), v.swapaxes(2, 3), 0.5))


def test_sizes_may_be_known_late() -> None:
    arrays = [drawn(1, 2, 40, 16, seed=i) for i in range(3)] + [np.zeros((1, 2, 40, 16), np.float32)]
    n = symbol("n")
    made = [guarded.tensor(array) for array in arrays]
    late = [replace(t, shape=(1, 2, n, 16), strides=(n * 32, n * 16, 16, 1)) for t, _ in made]
    step = attention(*late, scale=0.25, ahead=1)
    guarded.run(step, {made[i][1]: array for i, array in enumerate(arrays)}, {"n": 40})
    q, k, v, y = arrays
    close(y, expected(q, k, v, 0.25, causal=True))


@pytest.mark.parametrize("fused", [False, True] if host().fused else [False])
def test_weights_are_exponentials_within_an_ulp(fused: bool) -> None:
    lanes = host().lanes
    definitions = Definitions(fused)
    definitions.need(decay, lanes)
    text = "\n".join((definitions.text(), loop(decay, lanes)))
    call = load(text, ["run_decay"]).function(
        "run_decay", *[ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p]
    )
    x = -np.linspace(0, 87.29, 100_001).astype(np.float32)
    x = np.concatenate([x, -np.geomspace(1e-45, 1, 1000, dtype=np.float32)])
    assert ulps(applied(call, lanes, x), np.exp(x.astype(np.float64))).max() <= 1.0
    found = applied(call, lanes, [-0.0, 0.0, -88, -np.inf, np.nan])
    np.testing.assert_array_equal(found, np.array([1, 1, 0, 0, np.nan], np.float32))


@pytest.mark.parametrize("lanes", [None, 8, 1])
@pytest.mark.parametrize("queries", [1, 3, 40, 70])
def test_truth_values_say_which_keys_count(queries: int, lanes: int | None) -> None:
    q, k, v = drawn(2, 2, queries, 16, seed=1), drawn(2, 2, 150, 16, seed=2), drawn(2, 2, 150, 9, seed=3)
    mask = np.random.default_rng(4).random((2, 1, queries, 150)) < 0.5
    close(run(q, k, v, mask=mask, lanes=lanes), expected(q, k, v, 0.25, mask))
    shared = np.ascontiguousarray(mask[:1, :, :1])
    close(run(q, k, v, mask=shared, lanes=lanes), expected(q, k, v, 0.25, shared))


@pytest.mark.parametrize("lanes", [None, 4, 1])
@pytest.mark.parametrize("queries", [1, 40])
def test_scores_are_kept_within_a_cap_before_the_mask_is_added(queries: int, lanes: int | None) -> None:
    q, k, v = drawn(1, 2, queries, 16, seed=1), drawn(1, 2, 150, 16, seed=2), drawn(1, 2, 150, 9, seed=3)
    mask = drawn(1, 1, queries, 150, seed=4)
    found = step_run(q, k, v, mask=mask, scale=2.0, softcap=1.5, lanes=lanes)
    close(found, expected(q, k, v, 2.0, mask, cap=1.5))


@pytest.mark.parametrize("lanes", [None, 8, 1])
@pytest.mark.parametrize(("queries", "past", "left"), [(70, 0, 0), (70, 130, 33), (3, 197, 1), (1, 199, 150)])
def test_a_window_ends_and_begins_at_a_place_of_each_query(
    queries: int, past: int, left: int, lanes: int | None
) -> None:
    q, k, v = drawn(1, 2, queries, 16, seed=1), drawn(1, 2, 200, 16, seed=2), drawn(1, 2, 200, 20, seed=3)
    found = step_run(q, k, v, ahead=past + 1, back=past - left, lanes=lanes)
    close(found, expected(q, k, v, 0.25, causal=True, past=past, left=left))


@pytest.mark.parametrize("lanes", [None, 8, 1])
@pytest.mark.parametrize("queries", [1, 5, 40])
def test_each_batch_may_have_its_own_number_of_keys(queries: int, lanes: int | None) -> None:
    q, k, v = drawn(4, 4, queries, 16, seed=1), drawn(4, 2, 200, 16, seed=2), drawn(4, 2, 200, 20, seed=3)
    lengths = np.array([200, 130, 0, 3])
    for causal in (False, True):
        ahead = 1 - queries if causal else None
        found = step_run(q, k, v, ahead=ahead, lengths=lengths, lanes=lanes, zeros=True)
        wanted = expected(q, k, v, 0.25, causal=causal, lengths=lengths)
        assert np.isnan(wanted[2]).all()
        close(found, np.where(np.isnan(wanted), 0, wanted))


def test_a_length_outside_of_the_keys_is_noted() -> None:
    q, k, v = drawn(3, 1, 2, 8), drawn(3, 1, 5, 8), drawn(3, 1, 5, 8)
    for wrong in (-1, 6, 1 << 62, -(1 << 63)):
        noted = np.zeros(1, np.int64)
        step_run(q, k, v, lengths=np.array([5, wrong, 0]), noted=noted, zeros=True, ahead=-1)
        assert noted[0] == 2


@pytest.mark.parametrize("lanes", [None, 8, 1])
@pytest.mark.parametrize("kind", ["float", "bool"])
@pytest.mark.parametrize("queries", [1, 3, 40])
def test_a_query_that_may_look_at_no_key_is_answered_by_zeros(
    queries: int, kind: str, lanes: int | None
) -> None:
    q, k, v = drawn(1, 2, queries, 16, seed=1), drawn(1, 2, 200, 16, seed=2), drawn(1, 2, 200, 16, seed=3)
    mask = np.random.default_rng(4).random((1, 2, queries, 200)) < 0.5
    mask[0, 0, -1] = False
    q[0, 0, -1, 0] = np.nan  # whatever its scores are
    q[0, 1, 0] = -np.inf  # of which no key is left, but not by the mask
    given = mask if kind == "bool" else np.where(mask, 0, -np.inf).astype(np.float32)
    with np.errstate(invalid="ignore"):
        wanted = expected(q, k, v, 0.25, mask)
    found = step_run(q, k, v, mask=given, zeros=True, lanes=lanes)
    assert (found[0, 0, -1] == 0).all() and np.isnan(found[0, 1, 0]).all()
    wanted[0, 0, -1] = 0
    close(found, wanted)


@pytest.mark.parametrize("heads", [1, 6])
def test_heads_of_one_query_share_keys_with_masks_of_their_own(heads: int) -> None:
    q, k, v = drawn(2, 6, 1, 16, seed=1), drawn(2, 2, 300, 16, seed=2), drawn(2, 2, 300, 16, seed=3)
    mask = drawn(2, heads, 1, 300, seed=4)
    close(run(q, k, v, mask=mask), expected(q, k, v, 0.25, mask))
    close(run(q, k, v), expected(q, k, v, 0.25))


@pytest.mark.parametrize("lanes", [None, 8, 1])
@pytest.mark.parametrize(("queries", "heads", "groups"), [(1, 6, 3), (3, 10, 2), (2, 9, 9), (1, 40, 2)])
def test_many_keys_of_heads_beside_one_another(
    queries: int, heads: int, groups: int, lanes: int | None
) -> None:
    keys, depth = 600, 20
    x = {
        "q": drawn(2, queries, heads, depth, seed=1),
        "k": drawn(2, keys, groups, depth, seed=2),
        "v": drawn(2, keys, groups, depth, seed=3),
        "y": np.zeros((2, queries, heads, depth), np.float32),
        "mask": np.random.default_rng(4).random((2, heads, queries, keys)) < 0.5,
    }
    x["mask"][0, 0, 0] = False  # no key at all
    x["mask"][1, -1, -1, 500:] = False  # none of the last chunks
    x["q"][0, 0, 0, 0] = np.nan  # whatever its scores are
    made = {name: guarded.tensor(array, name) for name, array in x.items()}
    at = {name: tensor for name, (tensor, _) in made.items()}
    views = [at[name].permuted((0, 2, 1, 3)) for name in "qkvy"]
    steps = attention(*views, scale=0.5, mask=at["mask"], ahead=keys - queries + 1, zeros=True)
    guarded.run(on(steps, lanes), {storage: x[name] for name, (_, storage) in made.items()})
    q, k, v, y = (x[name].transpose(0, 2, 1, 3) for name in "qkvy")
    with np.errstate(invalid="ignore"):
        wanted = expected(q, k, v, 0.5, x["mask"], causal=True, past=keys - queries)
    wanted[0, 0, 0] = 0
    close(y, wanted)


@pytest.mark.parametrize("queries", [1, 3, 8, 9, 40])
def test_how_many_queries_there_are_may_be_known_late(queries: int) -> None:
    q, k, v = drawn(2, 6, queries, 16, seed=1), drawn(2, 2, 1030, 16, seed=2), drawn(2, 2, 1030, 16, seed=3)
    y, n = np.zeros_like(q), symbol("n")
    made = [guarded.tensor(array) for array in (q, k, v, y)]
    late = replace(made[0][0], shape=(2, 6, n, 16), strides=(n * 96, n * 16, 16, 1))
    result = replace(late, storage=made[3][1])
    steps = attention(late, made[1][0], made[2][0], result, scale=0.25, ahead=1031 - n)
    arrays = {storage: array for (_, storage), array in zip(made, (q, k, v, y), strict=True)}
    guarded.run(steps, arrays, {"n": queries})
    close(y, expected(q, k, v, 0.25, causal=True, past=1030 - queries))


@pytest.mark.parametrize("lanes", [None, 8, 4, 1])
@pytest.mark.parametrize("stage", [PRODUCTS, CAPPED, BIASED, WEIGHTS])
def test_scores_are_given_in_any_stage(stage: int, lanes: int | None) -> None:
    q, k, v = drawn(2, 4, 5, 19, seed=1), drawn(2, 2, 37, 19, seed=2), drawn(2, 2, 37, 8, seed=3)
    mask = drawn(2, 1, 5, 37, seed=4)
    found = np.full((2, 4, 5, 37), -7, np.float32)
    step_run(q, k, v, mask=mask, ahead=20, softcap=1.5, scores=found, stage=stage, lanes=lanes)
    wanted = 0.25 * (q.astype(np.float64) @ np.repeat(k, 2, 1).swapaxes(2, 3))
    if stage >= CAPPED:
        wanted = 1.5 * np.tanh(wanted / 1.5)
    if stage >= BIASED:
        wanted = np.where(np.arange(37) < np.arange(20, 25)[:, None], wanted + mask, -np.inf)
    if stage == WEIGHTS:
        wanted = np.exp(wanted - wanted.max(-1, keepdims=True))
        wanted /= wanted.sum(-1, keepdims=True)
    close(found, wanted)


def step_run(
    q: Array,
    k: Array,
    v: Array,
    *,
    scale: float = 0.25,
    mask: Array | None = None,
    lengths: Array | None = None,
    ahead: int | None = None,
    back: int | None = None,
    softcap: float = 0.0,
    zeros: bool = False,
    noted: Array | None = None,
    scores: Array | None = None,
    stage: int = PRODUCTS,
    lanes: int | None = None,
) -> Array:
    """What a step makes of whatever it is told besides; `noted` becomes the status."""
    status = np.zeros(1, np.int64) if noted is None else noted
    given = {
        "q": q,
        "k": k,
        "v": v,
        "y": np.full((*q.shape[:3], v.shape[3]), -7, np.float32),
        "status": status,
    }
    given |= {
        n: one for n, one in (("mask", mask), ("lengths", lengths), ("scores", scores)) if one is not None
    }
    made = {name: guarded.tensor(array, name) for name, array in given.items()}
    at = {name: tensor for name, (tensor, _) in made.items()}
    step = attention(
        *(at[one] for one in "qkvy"),
        scale=scale,
        mask=at.get("mask"),
        ahead=ahead,
        back=back,
        lengths=at.get("lengths"),
        most=k.shape[2],
        status=at["status"],
        softcap=softcap,
        zeros=zeros,
        scores=at.get("scores"),
        stage=stage,
    )
    guarded.run(on(step, lanes), {made[name][1]: array for name, array in given.items()})
    return given["y"]
