"""Decoders read prompts at once or token by token, with caches of every kind, and give equal logits."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

import sardonyx as sx
from generate.decoders import (
    EMBEDDING,
    OUT,
    chain_decoder,
    recurrent_decoder,
    summed_logits,
    summing_decoder,
    window_decoder,
)
from generate.static_decoder import static_file
from models import parse_model
from sardonyx._src.generate.decoder import decoder as decoder_module
from sardonyx._src.generate.decoder.decoder import TokenDecoder

TOKENS = np.array([[1, 5, 2, 2, 6, 0], [3, 3, 1, 0, 4, 2]])


def decoder_of(model: sx.Model, **options: Mapping[str, str]) -> TokenDecoder:
    return TokenDecoder(sx.Session(model), **options)  # type: ignore[arg-type]


def test_a_prompt_at_once_is_the_prompt_token_by_token() -> None:
    decoder = decoder_of(summing_decoder())
    at_once, state = decoder.read(decoder.start(2), TOKENS)
    np.testing.assert_allclose(at_once, summed_logits(TOKENS), rtol=1e-5, atol=1e-5)
    one_by_one = decoder.start(2)
    for column in range(TOKENS.shape[1]):
        logits, one_by_one = decoder.read(one_by_one, TOKENS[:, column : column + 1])
        np.testing.assert_array_equal(logits[:, 0], at_once[:, column])
    for name, cache in state.caches.items():
        np.testing.assert_array_equal(cache, one_by_one.caches[name])
    np.testing.assert_array_equal(one_by_one.tokens, TOKENS)


def test_long_prompts_are_read_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decoder_module, "MAX_LOGITS_BYTES", 4 * 7 * 2 * 4)  # four tokens of two rows
    decoder = decoder_of(summing_decoder())
    read: list[int] = []
    logits, state = decoder.read(decoder.start(2), TOKENS, advance=read.append)
    assert (read, state.length) == ([4, 2], 6)
    np.testing.assert_allclose(logits, summed_logits(TOKENS)[:, 4:], rtol=1e-5, atol=1e-5)


def test_a_state_is_forked_selected_and_cut() -> None:
    decoder = decoder_of(summing_decoder())
    _, state = decoder.read(decoder.start(2), TOKENS)
    cut = state.cut(3, decoder.roles.caches)
    swapped = cut.select(np.array([1, 0, 1]))
    logits, longer = decoder.read(swapped, np.array([[6], [6], [2]]))
    expected = np.concatenate([TOKENS[[1, 0, 1], :3], [[6], [6], [2]]], axis=1)
    np.testing.assert_allclose(logits[:, 0], summed_logits(expected)[:, -1], rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(longer.tokens, expected)
    again, _ = decoder.read(cut, TOKENS[:, 3:4])  # the state was not changed by its fork
    np.testing.assert_allclose(again[:, 0], summed_logits(TOKENS[:, :4])[:, -1], rtol=1e-5, atol=1e-5)


def test_a_recurrent_state_cannot_be_cut() -> None:
    decoder = decoder_of(recurrent_decoder())
    logits, state = decoder.read(decoder.start(2), TOKENS)
    np.testing.assert_allclose(logits[:, 0], summed_logits(TOKENS)[:, -1], rtol=1e-5, atol=1e-5)
    with pytest.raises(sx.InputError, match=r"must hold tokens at places of their own; got 'past_state'"):
        state.cut(2, decoder.roles.caches)
    assert state.cut(6, decoder.roles.caches) is state
    with pytest.raises(sx.InputError, match="in 0 to 6"):
        state.cut(7, decoder.roles.caches)


def test_a_model_without_caches_reads_everything_again() -> None:
    decoder = decoder_of(chain_decoder())
    logits, state = decoder.read(decoder.start(2), TOKENS[:, :4])
    later, state = decoder.read(state, TOKENS[:, 4:])
    every, _ = decoder.read(decoder.start(2), TOKENS)
    np.testing.assert_array_equal(np.concatenate([logits, later], axis=1), every)


def test_a_model_of_a_fixed_length_reads_the_last_tokens() -> None:
    decoder = decoder_of(window_decoder(4))
    logits, state = decoder.read(decoder.start(2), TOKENS)
    np.testing.assert_allclose(logits[:, 0], EMBEDDING[TOKENS[:, 2:]].sum(1) @ OUT, rtol=1e-5, atol=1e-5)
    later, _ = decoder.read(state, np.array([[1], [2]]))
    recent = np.concatenate([TOKENS[:, 3:], [[1], [2]]], axis=1)
    np.testing.assert_allclose(later[:, 0], EMBEDDING[recent].sum(1) @ OUT, rtol=1e-5, atol=1e-5)
    with pytest.raises(sx.InputError, match="at least 4 tokens, which the model reads at a time; got 3"):
        decoder.read(decoder.start(), TOKENS[:1, :3])


def test_caches_in_buffers_of_a_fixed_size() -> None:
    """The standard form of version 24: TensorScatter writes new keys, and Attention counts the valid ones."""
    decoder = TokenDecoder(sx.Session(static_file()))
    assert decoder.capacity == 16
    tokens = np.array([[3, 200, 17, 9, 9]])
    at_once, state = decoder.read(decoder.start(), tokens)
    one_by_one = decoder.start()
    for column in range(tokens.shape[1]):
        logits, one_by_one = decoder.read(one_by_one, tokens[:, column : column + 1])
        np.testing.assert_allclose(logits[:, 0], at_once[:, column], rtol=1e-4, atol=1e-5)
    cut, _ = decoder.read(state.cut(2, decoder.roles.caches), tokens[:, 2:])
    np.testing.assert_allclose(cut, at_once[:, 2:], rtol=1e-4, atol=1e-5)
    with pytest.raises(sx.InputError, match="must fit into the caches of the decoder, 16; got 17"):
        decoder.read(state, np.zeros((1, 12), np.int64))


def test_masks_positions_and_lengths_are_fed_as_declared() -> None:
    """The logits of this decoder are its feeds, so that each can be seen."""
    model = parse_model(
        """g (int64[B,S] input_ids, float[B,T] attention_mask, int32[3,B,S] position_ids, int64[1] past_length,
            int64 total_sequence_length, int64[S] cache_position, bool[1] use_cache_branch, float[B,P] past_a)
            => (float[B,S,K] logits, float[B,Q] present_a)
        { f = Cast<to = 1>(input_ids)  present_a = Concat<axis = 1>(past_a, f)
          m = ReduceSum(attention_mask)  p = Cast<to = 1>(position_ids)  q = ReduceMax(p)
          l = Cast<to = 1>(past_length)  t = Cast<to = 1>(total_sequence_length)  c = Cast<to = 1>(cache_position)
          n = ReduceMin(c)  h = Cast<to = 1>(use_cache_branch)  one = Constant<value_ints = [1, 1, 1]>()
          m1 = Reshape(m, one)  q1 = Reshape(q, one)  l1 = Reshape(l, one)  t1 = Reshape(t, one)  n1 = Reshape(n, one)
          h1 = Reshape(h, one)  row = Concat<axis = 2>(m1, q1, l1, t1, n1, h1)
          i = Unsqueeze(f, two)  z = Mul(i, zero)  logits = Add(z, row) }""".replace(
            "{ f =", "<int64[1] two = {2}, float[1] zero = {0}> { f ="
        )
    )
    decoder = decoder_of(model)
    assert dict(decoder.roles.names) == {
        "tokens": "input_ids",
        "mask": "attention_mask",
        "positions": "position_ids",
        "past_length": "past_length",
        "total_length": "total_sequence_length",
        "new_positions": "cache_position",
        "has_past": "use_cache_branch",
        "logits": "logits",
    }
    logits, state = decoder.read(decoder.start(), np.array([[1, 2, 3]]))
    np.testing.assert_array_equal(logits[0, -1], [3, 2, 0, 3, 0, 0])
    logits, state = decoder.read(state, np.array([[4, 5]]))
    np.testing.assert_array_equal(logits[0, -1], [5, 4, 3, 5, 3, 1])
    np.testing.assert_array_equal(state.caches["past_a"], [[1, 2, 3, 4, 5]])
