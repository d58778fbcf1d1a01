"""Small decoders with attention: masked, with caches that grow, and GroupQueryAttention, which counts the tokens of each row."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

import sardonyx as sx
from sardonyx._src.ir import Array

WORDS, WIDTH, HEADS, EACH, PLACES = 7, 8, 2, 4, 64
_draw = np.random.default_rng(5)
EMBEDDING, POSITIONS = (_draw.standard_normal((n, WIDTH)).astype(np.float32) for n in (WORDS, PLACES))
WEIGHTS = [_draw.standard_normal((WIDTH, WIDTH)).astype(np.float32) * np.float32(0.25) for _ in "qkv"]
OUT = _draw.standard_normal((WIDTH, WORDS)).astype(np.float32)


def masked_decoder() -> sx.Model:
    """One head; keys and values [batch, past, WIDTH] grow; a mask hides places, and positions are embedded."""
    b = sx.Builder(opset=21)
    ids = b.input("input_ids", sx.DataType.INT64, ["batch", "length"])
    mask = b.input("attention_mask", sx.DataType.INT64, ["batch", "total"])
    positions = b.input("position_ids", sx.DataType.INT64, ["batch", "length"])
    x = b.Add(b.Gather(EMBEDDING, ids), b.Gather(POSITIONS, positions))
    q, k, v = (b.MatMul(x, weight) for weight in WEIGHTS)
    presents = []
    for part, new in (("key", k), ("value", v)):
        past = b.input(f"past_key_values.0.{part}", sx.DataType.FLOAT, ["batch", "past", WIDTH])
        presents.append(b.Concat(past, new, axis=1))
    total, length = b.Gather(b.Shape(mask), np.array(1)), b.Gather(b.Shape(ids), np.array(1))
    places = b.Range(np.array(0), total, np.array(1))
    latest = b.Unsqueeze(b.Range(b.Sub(total, length), total, np.array(1)), np.array([1]))
    is_visible = b.And(b.LessOrEqual(places, latest), b.Unsqueeze(b.Cast(mask, to=9), np.array([1])))
    scores = b.MatMul(q, b.Transpose(presents[0], perm=[0, 2, 1]))
    weights = b.Softmax(b.Where(is_visible, scores, np.float32(-1e9)))
    b.output(b.MatMul(b.MatMul(weights, presents[1]), OUT), "logits")
    for part, present in zip(("key", "value"), presents, strict=True):
        b.output(
            present, f"present.0.{part}", sx.Builder.tensor(sx.DataType.FLOAT, ["batch", "total", WIDTH])
        )
    return b.model()


def masked_logits(tokens: list[int]) -> Array:
    """The logits of `masked_decoder` after tokens, computed from nothing in float64."""
    x = (EMBEDDING[tokens] + POSITIONS[: len(tokens)]).astype(np.float64)
    q, k, v = (x @ weight for weight in WEIGHTS)
    weights = np.exp(scores := k @ q[-1]) / np.exp(scores).sum()
    result: Array = weights @ v @ OUT
    return result


# Scales of keys and of values, by the bits of the codes.
SCALES: Mapping[int, tuple[Array, Array]] = {
    bits: (
        np.array([step], np.float32),
        step * np.linspace(1, 2, HEADS * EACH, dtype=np.float32).reshape(1, HEADS, 1, EACH),
    )
    for bits, step in ((0, 0.0), (8, 0.02), (4, 0.25))
}


def grouped_decoder(window: int = 0, bits: int = 0) -> sx.Model:
    """GroupQueryAttention with rotary positions; keys and values [batch, HEADS, past, EACH], and a mask that it counts.

    window: the tokens of a windowed cache.  bits: of the codes of a quantized one.
    """
    b = sx.ir.GraphBuilder(21, name="grouped")
    b.imports["com.microsoft"] = 1
    ids = b.input("input_ids", sx.DataType.INT64, ["batch", "length"])
    mask = b.input("attention_mask", sx.DataType.INT64, ["batch", "total"])
    constant = b.constant
    last = b.Sub(b.ReduceSum(mask, constant("axes", np.array([1])), keepdims=0), constant("one", np.array(1)))
    total = b.Gather(b.Shape(mask), constant("axis", np.array(1)))
    angles = np.outer(np.arange(PLACES), [1.0, 0.1]).astype(np.float32)
    x = b.Gather(constant("embedding", EMBEDDING), ids)
    heads = [b.MatMul(x, constant(f"weight {i}", weight)) for i, weight in enumerate(WEIGHTS)]
    dtype = {0: sx.DataType.FLOAT, 8: sx.DataType.INT8, 4: sx.DataType.UINT8}[bits]
    size = EACH // 2 if bits == 4 else EACH
    pasts = [
        b.input(f"past_key_values.0.{part}", dtype, ["batch", HEADS, "past", size])
        for part in ("key", "value")
    ]
    attributes: dict[str, Any] = {}
    if window:
        attributes = {"sliding_window_cache": 1, "local_window_size": window}
    if bits:
        attributes |= {
            "kv_cache_bit_width": bits,
            "k_quant_type": "PER_TENSOR",
            "v_quant_type": "PER_CHANNEL",
        }
    operands = [*heads, *pasts, b.Cast(last, to=6), b.Cast(total, to=6)]
    tables = [constant("cos", np.cos(angles)), constant("sin", np.sin(angles))]
    scales = [
        constant(f"{part} scale", scale) for part, scale in zip("kv", SCALES[bits], strict=True) if bits
    ]
    mixed, *presents = b.node(
        "GroupQueryAttention",
        [*operands, *tables, *([None] * 3 if bits else []), *scales],
        3,
        domain="com.microsoft",
        num_heads=HEADS,
        kv_num_heads=HEADS,
        do_rotary=1,
        **attributes,
    ).outputs
    b.output(b.MatMul(mixed, constant("out", OUT)), "logits")
    for part, present in zip(("key", "value"), presents, strict=True):
        b.output(present, f"present.0.{part}")
    return b.model()


def grouped_logits(tokens: list[int], window: int = 0, bits: int = 0) -> Array:
    """The logits of `grouped_decoder` after tokens, computed from nothing in float64."""
    x = EMBEDDING[tokens].astype(np.float64)
    q, k, v = ((x @ weight).reshape(-1, HEADS, EACH) for weight in WEIGHTS)
    angles = np.outer(np.arange(len(tokens)), [1.0, 0.1])[:, None]
    q, k = (rotated(heads, np.cos(angles), np.sin(angles)) for heads in (q, k))
    if bits:
        of_keys, of_values = SCALES[bits]
        k, v = decoded(k, of_keys, bits), decoded(v, of_values[:, :, 0], bits)
    seen = slice(-window if window else None, None)
    scores = np.einsum("hd,thd->ht", q[-1], k[seen]) / np.sqrt(EACH)
    weights = np.exp(scores) / np.exp(scores).sum(1, keepdims=True)
    result: Array = np.einsum("ht,thd->hd", weights, v[seen]).reshape(-1) @ OUT
    return result


def rotated(heads: Array, cos: Array, sin: Array) -> Array:
    """Heads [tokens, heads, size] by angles [tokens, 1, size / 2]."""
    a, b = np.split(heads, 2, axis=-1)
    return np.concatenate([a * cos - b * sin, b * cos + a * sin], axis=-1)


def decoded(heads: Array, scale: Array, bits: int) -> Array:
    """What codes of this many bits hold of heads."""
    most = 1 << (bits - 1)
    return np.clip(np.rint(heads / scale), -most, most - 1) * scale
