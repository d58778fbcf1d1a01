"""Contracts of attention: queries, keys, depth and width around their tiles, with every mask; rotary embedding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from compile.contracts.contract import Axes, Contract
from compile.contracts.trial import Trial
from sardonyx._src.compile.codegen import Target
from sardonyx._src.compile.kernels.attention.attention import attention_steps
from sardonyx._src.compile.kernels.attention.rotary_embedding import rotary_embedding_step
from sardonyx._src.compile.kernels.attention.scores import (
    ATTENTION_WEIGHTS,
    MASKED_SCORES,
    SCALED_SCORES,
    SOFTCAPPED_SCORES,
)
from sardonyx._src.compile.program import Step
from sardonyx._src.ir import Array

CLOSE = (
    2e-5  # scores are sums of tens of rounded products, and their error is a relative error of the weights
)
SCALE, SOFTCAP = 0.25, 1.5


def attention(
    trial: Trial,
    queries: int,
    keys: int,
    depth: int,
    width: int,
    heads: tuple[int, int],
    mask: str,
    bounds: str,
    layout: str,
) -> Sequence[Step]:
    """mask: its type and which dims it has.  bounds: causal, a window, or lengths of each batch.  layout: of q, k, v and y."""
    q_heads, kv_heads = heads
    q, k, v = (
        trial.normal(2, count, *shape)
        for count, shape in (
            (q_heads, (queries, depth)),
            (kv_heads, (keys, depth)),
            (kv_heads, (keys, width)),
        )
    )
    added = draw_mask(trial, mask, q_heads, queries, keys)
    lengths = np.array([keys, max(keys - 3, 0)]) if bounds == "lengths" else None
    expected = attend(q, k, v, added, bounds, lengths)
    options: dict[str, Any] = {}
    if lengths is not None:
        options = {"lengths": trial.input(lengths), "status": trial.status(), "max_length": keys}
    order = (0, 2, 1, 3) if layout == "rows of heads" else (0, 1, 2, 3)
    tensors = [trial.input(np.ascontiguousarray(t.transpose(order))).permute(order) for t in (q, k, v)]
    y = trial.result(np.ascontiguousarray(expected.transpose(order)), tolerance=CLOSE).permute(order)
    return attention_steps(
        tensors[0],
        tensors[1],
        tensors[2],
        y,
        scale=SCALE,
        mask=None if added is None else trial.input(added),
        causal_offset={"": None, "lengths": None}.get(bounds, keys - queries + 1),
        window_offset=keys - queries - 4 if bounds == "window" else None,
        zero_masked_rows=True,
        **options,
    )


def draw_mask(trial: Trial, mask: str, heads: int, queries: int, keys: int) -> Array | None:
    kind, _, dims = mask.partition(" ")
    if not kind:
        return None
    shape = (2 if "b" in dims else 1, heads if "h" in dims else 1, queries if "q" in dims else 1, keys)
    return trial.normal(*shape) if kind == "float" else trial.rng.random(shape) < 0.7


def attend(q: Array, k: Array, v: Array, mask: Array | None, bounds: str, lengths: Array | None) -> Array:
    """The weighted sums of the values in float64; zeros for queries without a key."""
    groups = q.shape[1] // k.shape[1]
    scores = hide_keys(SCALE * multiply_heads(q, k), mask, bounds, lengths)
    return np.asarray(weigh(scores) @ np.repeat(v.astype(np.float64), groups, axis=1))


def multiply_heads(q: Array, k: Array) -> Array:
    """The products of queries with keys, which several heads of queries share."""
    keys = np.repeat(k.astype(np.float64), q.shape[1] // k.shape[1], axis=1)
    return np.asarray(q.astype(np.float64) @ keys.swapaxes(2, 3))


def weigh(scores: Array) -> Array:
    """The Softmax of scores; zeros where all are -inf."""
    highest = scores.max(axis=-1, keepdims=True, initial=-np.inf)
    weights = np.exp(scores - np.where(np.isfinite(highest), highest, 0))
    total = weights.sum(axis=-1, keepdims=True)
    return np.asarray(weights / np.where(total == 0, 1, total))


def hide_keys(scores: Array, mask: Array | None, bounds: str, lengths: Array | None) -> Array:
    """The scores with the mask added, and -inf for keys outside of the bounds."""
    queries, keys = scores.shape[2:]
    if mask is not None:
        scores = scores + (np.where(mask, 0, -np.inf) if mask.dtype == bool else mask)
    query, key = np.ogrid[:queries, :keys]
    position = query + keys - queries
    if bounds in ("causal", "window"):
        scores = np.where(key <= position, scores, -np.inf)
    if bounds == "window":
        scores = np.where(key >= position - 4, scores, -np.inf)
    if lengths is not None:
        scores = np.where(key < lengths[:, None, None, None], scores, -np.inf)
    return scores


def attention_axes(target: Target) -> Axes:
    lanes = target.lanes
    return {
        "queries": (*range(1, 26), 31, 33, 47, 49, 63, 64, 65, 70),
        "keys": (*range(19), 31, 33, 127, 128, 129, 255, 257, 513),
        "depth": (*range(1, 10), lanes, lanes + 1, 64, 65),
        "width": (*range(1, 10), lanes, lanes + 1, 64, 70),
        "heads": ((1, 1), (2, 2), (4, 2), (6, 1)),
        "mask": ("", "float q", "float bhq", "float", "bool q", "bool bh", "bool b"),
        "bounds": ("", "causal", "window", "lengths"),
        "layout": ("heads of rows", "rows of heads"),
    }


def attention_scores(trial: Trial, queries: int, keys: int, depth: int, stage: int) -> Sequence[Step]:
    """The scores as an output."""
    q, k, v = trial.normal(2, 4, queries, depth), trial.normal(2, 2, keys, depth), trial.normal(2, 2, keys, 3)
    mask = trial.normal(2, 1, queries, keys)
    scaled = SCALE * multiply_heads(q, k)
    capped = SOFTCAP * np.tanh(scaled / SOFTCAP)
    masked = hide_keys(capped, mask, "causal", None)
    stages = {
        SCALED_SCORES: scaled,
        SOFTCAPPED_SCORES: capped,
        MASKED_SCORES: masked,
        ATTENTION_WEIGHTS: weigh(masked),
    }
    return attention_steps(
        trial.input(q),
        trial.input(k),
        trial.input(v),
        trial.result(weigh(masked) @ np.repeat(v, 2, 1), tolerance=CLOSE),
        scale=SCALE,
        mask=trial.input(mask),
        causal_offset=keys - queries + 1,
        softcap=SOFTCAP,
        zero_masked_rows=True,
        scores=trial.result(stages[stage], tolerance=CLOSE),
        stage=stage,
        max_length=keys,
    )


def scores_axes(target: Target) -> Axes:
    return {
        "queries": (1, 2, 3, 7, 17),
        "keys": (*range(1, 2 * target.lanes + 2), 129, 257),
        "depth": (*range(1, 10), target.lanes + 1),
        "stage": (SCALED_SCORES, SOFTCAPPED_SCORES, MASKED_SCORES, ATTENTION_WEIGHTS),
    }


def rotary_embedding(
    trial: Trial, length: int, half: int, rest: int, layout: str, interleaved: bool, has_positions: bool
) -> Sequence[Step]:
    """rest: elements of a row after the rotated ones, which are copied."""
    x = trial.integers(2, 3, length, 2 * half + rest)
    positions = trial.rng.integers(0, 7, (2, length))
    caches = [trial.integers(*((7,) if has_positions else (2, length)), half) for _ in range(2)]
    cos, sin = (cache[positions][:, None] if has_positions else cache[:, None] for cache in caches)
    pairs = (
        (slice(0, 2 * half, 2), slice(1, 2 * half, 2))
        if interleaved
        else (slice(half), slice(half, 2 * half))
    )
    first, second = (x[..., pair] for pair in pairs)
    y = x.copy()
    y[..., pairs[0]], y[..., pairs[1]] = cos * first - sin * second, sin * first + cos * second
    order = (0, 2, 1, 3) if layout == "rows of heads" else (0, 1, 2, 3)
    tensors = trial.input(np.ascontiguousarray(x.transpose(order))).permute(order), trial.result(y, gap=2)
    options = {"positions": trial.input(positions), "status": trial.status()} if has_positions else {}
    return [rotary_embedding_step(*tensors, *map(trial.input, caches), interleaved=interleaved, **options)]


def rotary_axes(target: Target) -> Axes:
    return {
        "length": (0, 1, 2, 5),
        "half": (*range(1, 2 * target.lanes + 2), 4 * target.lanes + 1),
        "rest": (0, 1, 3, target.lanes, target.lanes + 1),
        "layout": ("heads of rows", "rows of heads"),
        "interleaved": (False, True),
        "has_positions": (False, True),
    }


CONTRACTS = [
    Contract(attention, attention_axes),
    Contract(attention_scores, scores_axes),
    Contract(rotary_embedding, rotary_axes),
]
