"""Rows of different lengths that are read together have the logits of rows alone, in every form of caches."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest

import sardonyx as sx
from generate.attention_decoders import grouped_decoder, masked_decoder, masked_logits
from generate.decoders import chain_decoder, recurrent_decoder, summing_decoder, window_decoder
from generate.static_decoder import static_file
from sardonyx._src.generate.decoder.alignment import find_alignment
from sardonyx._src.generate.decoder.decoder import TokenDecoder
from sardonyx._src.generate.decoder.padded_rows import PaddedRows, pad_states, read_rows
from sardonyx._src.ir import Array

SEQUENCES = [[1, 5, 2, 2, 6], [3], [0, 4, 4]]
FOLLOWING = np.array([[2, 6, 1], [5, 5, 0], [3, 1, 6]])  # a step a line


FORMS: list[tuple[Callable[[], object], str | None]] = [
    (masked_decoder, "end"),
    (grouped_decoder, "start"),
    (static_file, "start"),
    (recurrent_decoder, "start"),
    (summing_decoder, None),
    (chain_decoder, None),
    (partial(window_decoder, 3), None),
]


def read_token(decoder: TokenDecoder, rows: PaddedRows, new: Array) -> tuple[Array, PaddedRows]:
    """The logits [rows, vocabulary] after one more token of each row, and the rows after it."""
    logits, rows = read_rows(decoder, rows, new[:, None])
    return logits[:, -1], rows


def decoder_of(model: object) -> TokenDecoder:
    return TokenDecoder(sx.Session(model))  # type: ignore[arg-type]


def logits_alone(decoder: TokenDecoder, tokens: list[int]) -> Array:
    logits: Array = decoder.read(decoder.start(), np.array([tokens]))[0][0, -1]
    return logits


@pytest.mark.parametrize(("model", "alignment"), FORMS)
def test_alignments_are_found_by_trying(model: Callable[[], object], alignment: str | None) -> None:
    assert find_alignment(decoder_of(model())) == alignment


@pytest.mark.parametrize("model", [model for model, alignment in FORMS if alignment is not None])
def test_rows_together_are_rows_alone(model: Callable[[], object]) -> None:
    decoder = decoder_of(model())
    alignment, pairs = find_alignment(decoder), decoder.roles.caches
    assert alignment is not None
    states = [decoder.read(decoder.start(), np.array([tokens]))[1] for tokens in SEQUENCES]
    rows, every = pad_states(states, pairs, alignment), [list(tokens) for tokens in SEQUENCES]
    for number, step in enumerate(FOLLOWING):
        logits, rows = read_token(decoder, rows, step)
        for tokens, token in zip(every, step, strict=True):
            tokens.append(int(token))
        expected = [logits_alone(decoder, tokens) for tokens in every]
        np.testing.assert_allclose(logits, expected, rtol=1e-4, atol=1e-4)
        if number == 1:  # the longest row leaves, another one joins
            joining = decoder.read(decoder.start(), np.array([[6, 6]]))[1]
            rows, every = (
                pad_states([rows.select([2, 1]), joining], pairs, alignment),
                [every[2], every[1], [6, 6]],
            )
    state = rows.row(1)
    after, _ = decoder.read(state, np.array([[4]]))
    np.testing.assert_allclose(after[0, -1], logits_alone(decoder, [*every[1], 4]), rtol=1e-4, atol=1e-4)
    assert state.tokens.tolist() == [every[1]]


def test_padding_before_a_row_is_hidden() -> None:
    """Against NumPy, which computes each row from nothing."""
    decoder = decoder_of(masked_decoder())
    states = [decoder.read(decoder.start(), np.array([tokens]))[1] for tokens in SEQUENCES]
    rows = pad_states(states, decoder.roles.caches, "end")
    logits, _ = read_token(decoder, rows, FOLLOWING[0])
    expected = [
        masked_logits([*tokens, int(new)]) for tokens, new in zip(SEQUENCES, FOLLOWING[0], strict=True)
    ]
    np.testing.assert_allclose(logits, expected, rtol=1e-4, atol=1e-4)
    wrong, _ = read_token(decoder, pad_states(states, decoder.roles.caches, "start"), FOLLOWING[0])
    assert np.abs(wrong - expected).max() > 0.1


def test_rows_of_one_length_need_no_alignment() -> None:
    decoder = decoder_of(summing_decoder())
    states = [decoder.read(decoder.start(), np.array([tokens]))[1] for tokens in ([1, 2], [6, 0])]
    logits, rows = read_token(decoder, pad_states(states, decoder.roles.caches, "start"), np.array([3, 4]))
    expected = [logits_alone(decoder, tokens) for tokens in ([1, 2, 3], [6, 0, 4])]
    np.testing.assert_allclose(logits, expected, rtol=1e-5, atol=1e-5)
    assert rows.lengths.tolist() == [3, 3] and rows.bytes == 2 * 3 * 4 * 4


def test_rows_are_continued_in_their_memory() -> None:
    """Each row writes its new token after its own tokens; rows of before keep theirs, and may be continued otherwise."""
    decoder = TokenDecoder(sx.Session(grouped_decoder(), threads=1))
    pairs = decoder.roles.caches
    prompts = [np.array([[1, 5, 2, 2, 6]]), np.array([[3, 4]])]
    states = [decoder.read(decoder.start(), prompt)[1] for prompt in prompts]
    _, rows = read_token(decoder, pad_states(states, pairs, "start"), np.array([0, 1]))
    assert rows.claim is not None
    _, longer = read_token(decoder, rows, np.array([2, 3]))
    assert longer.claim is not None and longer.claim.memory is rows.claim.memory
    logits, forked = read_token(decoder, rows, np.array([4, 5]))
    assert forked.claim is not None and forked.claim.memory is not rows.claim.memory
    for number, tokens in enumerate(([1, 5, 2, 2, 6, 0, 4], [3, 4, 1, 5])):
        alone, _ = decoder.read(decoder.start(), np.array([tokens]))
        np.testing.assert_allclose(logits[number], alone[0, -1], 1e-4, 1e-5)
    logits, _ = read_token(decoder, longer, np.array([6, 6]))
    for number, tokens in enumerate(([1, 5, 2, 2, 6, 0, 2, 6], [3, 4, 1, 3, 6])):
        alone, _ = decoder.read(decoder.start(), np.array([tokens]))
        np.testing.assert_allclose(logits[number], alone[0, -1], 1e-4, 1e-5)


@pytest.mark.parametrize("model", [grouped_decoder, masked_decoder, summing_decoder])
def test_rows_are_cut_after_some_of_their_new_tokens(model: Callable[[], object]) -> None:
    """Rows whose tokens the decoder counts lose as many as they like; the others all as many."""
    decoder = decoder_of(model())
    alignment = find_alignment(decoder)
    prompts = [[1, 5, 2, 2], [3, 4]] if alignment is not None else [[1, 5], [3, 4]]
    kept = [1, 3] if alignment == "start" else [2, 2]
    states = [decoder.read(decoder.start(), np.array([prompt]))[1] for prompt in prompts]
    rows = pad_states(states, decoder.roles.caches, alignment or "start")
    new = np.array([[0, 6, 1, 1], [2, 2, 5, 3]])
    logits, longer = read_rows(decoder, rows, new)
    assert logits.shape[:2] == (2, 4)
    cut = longer.cut(rows.lengths + kept)
    every = [[*prompt, *row[:count]] for prompt, row, count in zip(prompts, new.tolist(), kept, strict=True)]
    assert [row.tolist() for row in cut.tokens] == every
    after, _ = read_token(decoder, cut, np.array([4, 6]))
    expected = [logits_alone(decoder, [*tokens, token]) for tokens, token in zip(every, [4, 6], strict=True)]
    np.testing.assert_allclose(after, expected, 1e-4, 1e-4)
    assert longer.cut(longer.lengths) is longer
