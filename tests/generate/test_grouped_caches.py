"""Decoders with caches of a window of tokens, and with caches in codes of 8 and 4 bits."""

from __future__ import annotations

import numpy as np
import pytest

import sardonyx as sx
from generate.attention_decoders import PLACES, grouped_decoder, grouped_logits
from sardonyx.generate import BatchingGenerator, Generator

PROMPT = [3, 5, 1, 6, 2, 0, 4]
CACHES = [(0, 8), (0, 4), (3, 0), (3, 8), (9, 0)]  # windows and bits


def expected_tokens(prompt: list[int], count: int, window: int, bits: int) -> list[int]:
    tokens = list(prompt)
    for _ in range(count):
        tokens.append(int(grouped_logits(tokens, window, bits).argmax()))
    return tokens[len(prompt) :]


@pytest.mark.parametrize(("window", "bits"), CACHES)
@pytest.mark.parametrize("engine", ["native", "reference"])
def test_logits_after_prompts_and_tokens(window: int, bits: int, engine: str) -> None:
    """Whatever the parts in which tokens are read are."""
    generator = Generator(grouped_decoder(window, bits), engine=engine, context=PLACES)
    decoder, tokens = generator.decoder, [*PROMPT, 3, 3, 1, 5, 0, 2]
    for parts in ([7, 1, 1, 1, 1, 1, 1], [1] * 13, [2, 5, 3, 3], [13]):
        state, read = decoder.start(), 0
        for count in parts:
            logits, state = decoder.read(state, np.array([tokens[read : read + count]]))
            read += count
            np.testing.assert_allclose(
                logits[0, -1], grouped_logits(tokens[:read], window, bits), 1e-4, 1e-4, err_msg=str(parts)
            )
    assert generator.session.stats.fallback_nodes == 0
    assert not generator.session.stats.bailouts


@pytest.mark.parametrize(("window", "bits"), CACHES)
def test_results_alone_and_in_company(window: int, bits: int) -> None:
    generator = Generator(grouped_decoder(window, bits), context=PLACES)
    prompts = [PROMPT, [2, 2], [6, 0, 5, 5]]
    expected = [expected_tokens(prompt, 12, window, bits) for prompt in prompts]
    assert [generator.generate(prompt, max_tokens=12).tokens for prompt in prompts] == expected
    with BatchingGenerator(generator, chunk=3) as batching:
        streams = [batching.stream(prompt, max_tokens=12) for prompt in prompts]
        assert [[t for piece in stream for t in piece.tokens] for stream in streams] == expected


def test_a_windowed_cache_has_the_size_of_its_window_and_cannot_be_cut() -> None:
    model = grouped_decoder(window=5)
    generator = Generator(model, context=PLACES)
    decoder = generator.decoder
    _, state = decoder.read(decoder.start(), np.array([PROMPT]))
    assert {cache.shape[2] for cache in state.caches.values()} == {5}
    assert not decoder.can_cut
    assert decoder.capacity is None  # tokens that leave make room
    wide = Generator(model, context=PLACES, sizes={"past": 8}).decoder  # evicts 4 entries at once
    logits, state = wide.read(wide.start(), np.array([PROMPT]))
    assert {cache.shape[2] for cache in state.caches.values()} == {8}
    np.testing.assert_allclose(logits[0, -1], grouped_logits(PROMPT, 5), 1e-4, 1e-4)
    with pytest.raises(
        sx.InputError, match="drafts require a decoder with logits of every token, and caches"
    ):
        Generator(model, context=PLACES, draft="lookup")


def test_codes_are_written_where_the_cache_is() -> None:
    decoder = Generator(grouped_decoder(bits=4), context=PLACES).decoder
    assert [pair.past for pair in decoder.updated] == ["past_key_values.0.key", "past_key_values.0.value"]
    _, state = decoder.read(decoder.start(), np.array([PROMPT]))
    _, later = decoder.read(state, np.array([[1]]))
    for name, cache in later.caches.items():
        assert cache.dtype == np.uint8
        assert np.shares_memory(cache, state.caches[name])
