"""Attention operators, with every kind of mask, state and packing."""

import numpy as np
import pytest

from ops.microsoft.judge import VendorCase, assert_agrees, assert_native_agrees, run

RNG = np.random.default_rng(5)
B, S, L, N, H = 2, 3, 4, 2, 8  # batch, queries, keys, heads, head size


def draw(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape).astype(np.float32)


def whole(values: object) -> np.ndarray:
    return np.array(values, np.int32)


Q, K, V, BIAS = draw(B, S, N * H), draw(B, L, N * H), draw(B, L, N * H), draw(3 * N * H)
OWN_K, OWN_V = draw(B, S, N * H), draw(B, S, N * H)
PAST_K, PAST_V = draw(B, N, 5, H), draw(B, N, 5, H)
KEY_MASK = whole([[1, 1, 1, 0], [1, 1, 0, 0]])
SCORE_BIAS = draw(B, N, S, L)
HEADS = {"num_heads": N}
MHA = "MultiHeadAttention"
MULTI_HEAD = [
    VendorCase(MHA, [Q, K, V], HEADS),
    VendorCase(MHA, [Q, K, V, BIAS], {**HEADS, "scale": 0.3}, label="bias"),
    VendorCase(MHA, [Q, K, draw(B, L, N * 4), draw(2 * N * H + N * 4)], HEADS, label="narrow values"),
    VendorCase(MHA, [Q, K, V, None, KEY_MASK], HEADS, label="key mask"),
    VendorCase(MHA, [Q, K, V, None, KEY_MASK], {**HEADS, "mask_filter_value": -3.0}, label="weak mask"),
    VendorCase(MHA, [Q, K, V, None, whole([3, 2])], HEADS, label="lengths"),
    VendorCase(
        MHA, [Q, K, V, None, RNG.integers(0, 2, (B, S, L)).astype(np.int32)], HEADS, label="query mask"
    ),
    VendorCase(MHA, [Q, K, V, None, None, SCORE_BIAS], HEADS, label="score bias"),
    VendorCase(MHA, [Q, K, V, BIAS, KEY_MASK, SCORE_BIAS[:1, :1]], HEADS, label="all biases"),
    VendorCase(MHA, [Q, OWN_K, OWN_V], {**HEADS, "unidirectional": 1}, label="causal"),
    VendorCase(MHA, [Q, OWN_K, OWN_V, None, None, None, PAST_K, PAST_V], HEADS, 3, label="past"),
    VendorCase(
        MHA,
        [Q, OWN_K, OWN_V, BIAS, None, draw(1, 1, S, 8), PAST_K, PAST_V],
        {**HEADS, "unidirectional": 1},
        3,
        label="causal past",
    ),
    VendorCase(MHA, [Q, OWN_K, OWN_V], HEADS, 3, label="present"),
    VendorCase(MHA, [Q, PAST_K, PAST_V], HEADS, label="cross"),
    VendorCase(MHA, [Q, OWN_K, OWN_V], HEADS, 4, label="scores"),
    VendorCase(MHA, [Q, PAST_K, PAST_V, BIAS], HEADS, label="cross bias"),
]
DECODER = "DecoderMaskedMultiHeadAttention"
ONE = [draw(B, 1, N * H) for _ in range(3)]
SHARED = {**HEADS, "past_present_share_buffer": 1}
BUFFERS = [draw(B, N, 9, H) * (np.arange(9)[:, None] < 5) for _ in range(2)]
STATES = [*BUFFERS, whole([5])]
DECODERS = [
    VendorCase(DECODER, [*ONE, None, None, *STATES], SHARED, 3),
    VendorCase(DECODER, [*ONE, whole([[0, 1, 1, 1, 1, 1], [1] * 6]), None, *STATES], SHARED, 3, label="mask"),
    VendorCase(DECODER, [*ONE, None, draw(1, N, 1, 6), *STATES, None, None, BIAS], SHARED, 3, label="bias"),
]

X, W = draw(B, S, 12), draw(12, 3 * N * H) * np.float32(0.3)
PAST = draw(2, B, N, 4, H)
PROJECTED = [
    VendorCase("Attention", [X, W, BIAS], HEADS),
    VendorCase("Attention", [X, W, BIAS], {**HEADS, "unidirectional": 1, "scale": 0.2}, label="causal"),
    VendorCase("Attention", [X, W, BIAS, whole([[1, 1, 0], [1, 0, 0]])], HEADS, label="key mask"),
    VendorCase("Attention", [X, W, BIAS, whole([3, 2])], HEADS, label="lengths"),
    VendorCase("Attention", [X, W, BIAS, whole([3, 2, 1, 0])], HEADS, label="ends and starts"),
    VendorCase(
        "Attention", [X, W, BIAS, RNG.integers(0, 2, (B, S, S)).astype(np.int32)], HEADS, label="query mask"
    ),
    VendorCase("Attention", [X, W, BIAS, None, PAST], {**HEADS, "unidirectional": 1}, 2, label="past"),
    VendorCase(
        "Attention",
        [X, W, BIAS, RNG.integers(0, 2, (B, S + 4)).astype(np.int32), PAST],
        HEADS,
        2,
        label="masked past",
    ),
    VendorCase("Attention", [X, W, BIAS, None, None, draw(B, N, S, S)], HEADS, label="score bias"),
    VendorCase(
        "Attention",
        [X, draw(12, 2 * N * H + N * 4), draw(2 * N * H + N * 4)],
        {**HEADS, "qkv_hidden_sizes": [N * H, N * H, N * 4]},
        label="narrow values",
    ),
    VendorCase("Attention", [X, W, BIAS], HEADS, 2, label="present"),
]
QX, QW = (
    RNG.integers(0, 255, (B, S, 12)).astype(np.uint8),
    RNG.integers(-60, 60, (12, 3 * N * H)).astype(np.int8),
)
SCALE, ZERO = np.array(0.01, np.float32), np.array(120, np.uint8)
QUANTIZED = [
    VendorCase("QAttention", [QX, QW, BIAS, SCALE, SCALE, None, ZERO], HEADS),
    VendorCase(
        "QAttention",
        [QX, QW, BIAS, SCALE, SCALE, whole([3, 2]), ZERO, np.array(3, np.int8)],
        HEADS,
        label="mask",
    ),
    VendorCase(
        "QAttention",
        [
            QX,
            QW,
            BIAS,
            SCALE,
            np.abs(draw(48)) * np.float32(0.01),
            None,
            ZERO,
            np.arange(48, dtype=np.int8) // 8,
        ],
        HEADS,
        label="columns",
    ),
    VendorCase(
        "QAttention",
        [QX, QW, BIAS, SCALE, SCALE, None, ZERO, np.array(3, np.int8), PAST],
        {**HEADS, "unidirectional": 1},
        2,
        label="past",
    ),
]

COS, SIN = np.cos(draw(10, H // 2)), np.sin(draw(10, H // 2))
ROTARY = [
    VendorCase("RotaryEmbedding", [draw(B, S, N * H), np.array([2]), COS, SIN]),
    VendorCase(
        "RotaryEmbedding", [draw(B, S, N * H), np.array([[1, 2, 3], [5, 6, 7]]), COS, SIN], label="positions"
    ),
    VendorCase(
        "RotaryEmbedding",
        [draw(B, N, S, H), np.array([2]), COS, SIN],
        {"interleaved": 1},
        label="interleaved",
    ),
    VendorCase(
        "RotaryEmbedding",
        [draw(B, S, N * H), np.array([[1, 2, 3], [5, 6, 7]]), COS[:, :2].copy(), SIN[:, :2].copy()],
        {"num_heads": N, "rotary_embedding_dim": 4},
        label="partial",
    ),
]
CASES = [*MULTI_HEAD, *DECODERS, *PROJECTED, *QUANTIZED, *ROTARY]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_agrees(case: VendorCase) -> None:
    assert_agrees(case)


@pytest.mark.parametrize("case", CASES[::5], ids=str)
def test_native(case: VendorCase) -> None:
    assert_native_agrees(case)


@pytest.mark.parametrize("bias", [None, BIAS])
def test_packed_operands_are_the_same_as_separate_ones(bias: np.ndarray | None) -> None:
    """onnxruntime's CPU kernel rejects packed operands."""
    q, k, v = (part.reshape(B, S, N, H) for part in (Q, OWN_K, OWN_V))
    separate = run(VendorCase(MHA, [Q, OWN_K, OWN_V, bias], HEADS))
    packed = run(VendorCase(MHA, [np.stack([q, k, v], axis=3), None, None, bias], HEADS))
    np.testing.assert_allclose(packed, separate, 1e-5, 1e-6)
    if bias is None:
        pairs = run(VendorCase(MHA, [Q, np.stack([k, v], axis=3)], HEADS))
        np.testing.assert_allclose(pairs, separate, 1e-5, 1e-6)
