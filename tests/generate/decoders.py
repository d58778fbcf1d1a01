"""Small decoders for tests, whose logits can be computed by hand."""

from __future__ import annotations

import numpy as np
import pytest

import sardonyx as sx
from sardonyx._src.ir import Array
from sardonyx.generate import Generator

WORDS = 7
EMBEDDING = np.random.default_rng(3).standard_normal((WORDS, 4)).astype(np.float32)
OUT = np.random.default_rng(4).standard_normal((4, WORDS)).astype(np.float32)
# Logits of the token that follows each token: a Markov chain.
CHAIN = np.array(
    [
        [0, 3, 2, 1, 0, 0, 0],
        [1, 0, 4, 0, 2, 0, 0],
        [0, 2, 0, 3, 0, 2, 1],
        [5, 0, 0, 0, 1, 1, 0],
        [0, 1, 0, 2, 0, 4, 0],
        [1, 0, 0, 0, 3, 0, 3],
        [2, 2, 0, 0, 0, 0, 1],
    ],
    np.float32,
)


def summing_decoder(
    past: str = "past_key_values.0.value",
    present: str = "present.0.value",
    *,
    tokens: str = "input_ids",
    logits: str = "logits",
) -> sx.Model:
    """Logits are a product of the sum of all embeddings so far; the cache holds the embeddings [batch, past, 4]."""
    b = sx.Builder(opset=21)
    ids = b.input(tokens, sx.DataType.INT64, ["batch", "length"])
    cache = b.input(past, sx.DataType.FLOAT, ["batch", "past", 4])
    every = b.Concat(cache, b.Gather(EMBEDDING, ids), axis=1)
    sums = b.CumSum(every, np.array(1))
    latest = b.Slice(sums, b.Neg(b.Shape(ids, start=1, end=2)), np.array([2**31]), np.array([1]))
    b.output(b.MatMul(latest, OUT), logits)
    b.output(every, present, sx.Builder.tensor(sx.DataType.FLOAT, ["batch", "total", 4]))
    return b.model()


def summed_logits(tokens: Array) -> Array:
    """The logits of `summing_decoder` for tokens [batch, length]."""
    return np.cumsum(EMBEDDING[tokens].astype(np.float64), axis=1) @ OUT


def recurrent_decoder() -> sx.Model:
    """Logits of the last token alone; the state is the sum of the embeddings so far [batch, 4]."""
    b = sx.Builder(opset=21)
    tokens = b.input("tokens", sx.DataType.INT32, ["batch", "length"])
    state = b.input("past_state", sx.DataType.FLOAT, ["batch", 4])
    total = b.Add(state, b.ReduceSum(b.Gather(EMBEDDING, tokens), np.array([1]), keepdims=0))
    b.output(b.MatMul(total, OUT), "scores")
    b.output(total, "present_state", sx.Builder.tensor(sx.DataType.FLOAT, ["batch", 4]))
    return b.model()


def chain_decoder(chain: Array = CHAIN) -> sx.Model:
    """A Markov chain without caches: the logits of a token depend on that token alone."""
    b = sx.Builder(opset=21)
    tokens = b.input("tokens", sx.DataType.INT64, ["batch", "length"])
    b.output(b.Gather(chain, tokens), "logits")
    return b.model()


def window_decoder(length: int) -> sx.Model:
    """A model that reads exactly `length` tokens; the logits [batch, words] follow from their sum."""
    b = sx.Builder(opset=21)
    tokens = b.input("context", sx.DataType.INT64, ["batch", length])
    b.output(b.MatMul(b.ReduceSum(b.Gather(EMBEDDING, tokens), np.array([1]), keepdims=0), OUT), "scores")
    return b.model()


def encoder(*, pools: bool = False) -> sx.Model:
    """The vector of a token is its embedding times its position, counted from 1, and the mask."""
    b = sx.Builder(opset=21)
    tokens = b.input("input_ids", sx.DataType.INT64, ["batch", "length"])
    mask = b.input("attention_mask", sx.DataType.INT64, ["batch", "length"])
    kinds = b.input("token_type_ids", sx.DataType.INT32, ["batch", "length"])
    positions = b.CumSum(mask, np.array(1))
    factors = b.Cast(b.Add(positions, b.Cast(kinds, to=7)), to=1)
    vectors = b.Mul(b.Gather(EMBEDDING, tokens), b.Unsqueeze(factors, np.array([2])))
    b.output(vectors, "last_hidden_state")
    if pools:
        b.output(b.ReduceMax(vectors, np.array([1]), keepdims=0), "sentence_embedding")
    return b.model()


def tokens_read(generator: Generator, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of tokens of each run."""
    counts: list[int] = []
    run = generator.session.run

    def counted(feeds: dict[str, Array], **options: object) -> object:
        counts.append(feeds[generator.decoder.roles.names["tokens"]].shape[1])
        return run(feeds, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(generator.session, "run", counted)
    return counts
