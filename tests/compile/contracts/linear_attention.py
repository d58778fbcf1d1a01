"""Contracts of linear attention: every rule, columns of the state around their vectors, few and many tokens."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from compile.contracts.contract import Axes, Contract, vector_edges
from compile.contracts.trial import Gap, Trial
from sardonyx._src.compile.codegen import Target
from sardonyx._src.compile.kernels.attention.linear_attention import (
    LinearAttentionOperands,
    linear_attention_step,
)
from sardonyx._src.compile.kernels.tuning import AttentionTuning
from sardonyx._src.compile.program import Step
from sardonyx._src.ir import Array

CLOSE = 2e-5  # sums of tens of rounded products, and a state that decays
ITEMS, HEADS, SCALE = 2, 3, 0.25
TOKENS = AttentionTuning.min_state_tokens


def linear_attention(
    trial: Trial,
    tokens: int,
    sizes: tuple[int, int],
    group: int,
    decay: str,
    rate: str,
    has_past: bool,
    gap: Gap,
) -> Sequence[Step]:
    """decay, rate: of each head, of each row of its state or one for all heads, or none."""
    d_k, d_v = sizes
    q, k, v = (trial.normal(ITEMS, tokens, HEADS * n) for n in (group * d_k, d_k, d_v))
    k /= np.float32(np.sqrt(d_k))
    past = trial.normal(ITEMS, HEADS, d_k, d_v) if has_past else None
    widths = {"": None, "head": HEADS, "row": HEADS * d_k, "one": 1}
    fades, rates = (
        None if n is None else abs(trial.normal(ITEMS, tokens, n)) for n in (widths[decay], widths[rate])
    )
    y, state = scan(q, k, v, past, None if fades is None else -fades, rates)
    operands = LinearAttentionOperands(
        trial.input(q, gap),
        trial.input(k, gap),
        trial.input(v, gap),
        None if past is None else trial.input(past),
        None if fades is None else trial.input(-fades, gap),
        None if rates is None else trial.input(rates, gap),
    )
    results = trial.result(y, tolerance=CLOSE), trial.result(state, tolerance=CLOSE)
    return [linear_attention_step(operands, *results, heads=HEADS, group=group, scale=SCALE)]


def scan(
    q: Array, k: Array, v: Array, past: Array | None, decay: Array | None, beta: Array | None
) -> tuple[Array, Array]:
    """The result and the state after the last token, head by head in float64."""
    items, tokens = q.shape[:2]
    q, k, v = (x.astype(np.float64).reshape(items, tokens, HEADS, x.shape[2] // HEADS) for x in (q, k, v))
    group = q.shape[3] // k.shape[3]
    state = np.zeros((items, HEADS, k.shape[3], v.shape[3]))
    state = state if past is None else past.astype(np.float64)
    y = np.zeros((items, tokens, HEADS, group, v.shape[3]))
    for t, item, head in np.ndindex(tokens, items, HEADS):
        own = state[item, head]
        if decay is not None:
            own *= np.exp(decay[item, t].astype(np.float64).reshape(HEADS, -1)[head])[:, None]
        new = v[item, t, head]
        if beta is not None:
            new = beta[item, t, head % beta.shape[2]] * (new - k[item, t, head] @ own)
        own += np.outer(k[item, t, head], new)
        y[item, t, head] = SCALE * q[item, t, head].reshape(group, -1) @ own
    return y.reshape(items, tokens, HEADS * group * v.shape[3]), state


def axes(target: Target) -> Axes:
    widths = sorted({*vector_edges(target), 1, 2, 63, 64, 65, 130})
    return {
        "tokens": (0, 1, 2, TOKENS - 1, TOKENS, TOKENS + 1, 2 * TOKENS + 3),
        "sizes": [(d_k, d_v) for d_k in (1, 2, 5, 16, 17) for d_v in widths],
        "group": (1, 2, 3),
        "decay": ("", "head", "row"),
        "rate": ("", "head", "one"),
        "has_past": (False, True),
        "gap": (0, 3),
    }


CONTRACTS = [Contract(linear_attention, axes)]
