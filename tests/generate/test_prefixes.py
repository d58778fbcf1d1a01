"""Prompts that begin as earlier ones read only the rest, with the same results."""

from __future__ import annotations

import numpy as np
import pytest

import sardonyx as sx
from generate.decoders import recurrent_decoder, summing_decoder, tokens_read
from sardonyx._src.generate.decoder.prefix_store import PrefixStore
from sardonyx.generate import Generator

FIRST = [1, 4, 2, 0, 3]


def test_the_next_turn_reads_only_what_is_new(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = Generator(sx.Session(summing_decoder()), prefix_bytes=1 << 20)
    counts = tokens_read(generator, monkeypatch)
    answer = generator.generate(FIRST, max_tokens=3).tokens
    assert counts == [5, 1, 1]
    prompt = [*FIRST, *answer, 6, 6]
    again = generator.generate(prompt, max_tokens=2).tokens
    assert counts[3:] == [3, 1]  # the last token of the answer was chosen, but not read
    assert again == Generator(summing_decoder()).generate(prompt, max_tokens=2).tokens


def test_a_prompt_that_differs_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = Generator(sx.Session(summing_decoder()), prefix_bytes=1 << 20)
    generator.generate(FIRST, max_tokens=1)
    counts = tokens_read(generator, monkeypatch)
    other = [*FIRST[:3], 5, 5]
    assert (
        generator.generate(other, max_tokens=1).tokens
        == Generator(summing_decoder()).generate(other, max_tokens=1).tokens
    )
    assert counts == [2]
    generator.generate(FIRST, max_tokens=1)
    assert counts == [2, 1]  # all but the last token, whose logits are not kept


def test_a_recurrent_state_serves_only_what_continues_it(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = Generator(sx.Session(recurrent_decoder()), prefix_bytes=1 << 20)
    generator.generate(FIRST, max_tokens=1)
    counts = tokens_read(generator, monkeypatch)
    generator.generate([*FIRST, 6], max_tokens=1)
    generator.generate([*FIRST[:3], 6], max_tokens=1)
    assert counts == [1, 4]


def test_beams_and_several_results_begin_with_kept_states(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = Generator(sx.Session(summing_decoder()), prefix_bytes=1 << 20)
    expected = Generator(summing_decoder()).generate([*FIRST, 2], beams=3, n=3, max_tokens=3)
    generator.generate(FIRST, max_tokens=1)
    counts = tokens_read(generator, monkeypatch)
    assert generator.generate([*FIRST, 2], beams=3, n=3, max_tokens=3).results == expected.results
    assert counts[0] == 1
    drawn = generator.generate([*FIRST, 2], n=3, temperature=1.0, max_tokens=3)
    assert (
        drawn.results
        == Generator(summing_decoder()).generate([*FIRST, 2], n=3, temperature=1.0, max_tokens=3).results
    )


def test_the_oldest_states_are_forgotten() -> None:
    decoder = Generator(summing_decoder()).decoder
    store = PrefixStore(2 * 64 * 16, decoder.roles.caches)  # two memories of 64 tokens of 16 bytes
    for prompt in ([1] * 5, [2] * 5, [3] * 5):
        store.keep(decoder.read(decoder.start(), np.array([prompt]))[1])
    assert [int(state.tokens[0, 0]) for state in store.states] == [2, 3]
    store.keep(decoder.read(decoder.start(), np.array([[2] * 7]))[1])
    assert [state.length for state in store.states] == [5, 7]  # the state that it continues is not kept twice
    store.keep(decoder.read(decoder.start(), np.array([[4] * 129]))[1])
    assert [state.length for state in store.states] == [5, 7]  # too large
    assert store.longest(np.array([5, 5])) is None
    kept = store.longest(np.array([3, 3, 1]))
    assert kept is not None and kept.length == 2
