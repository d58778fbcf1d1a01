"""Whether a decoder can read rows of different lengths together, and where the tokens of shorter rows must be: by trying.

Exporters do not say it: GroupQueryAttention and TensorScatter count the tokens of each row from the first place, masks of
attention hide padding before them, and some models have neither.  Therefore two rows are read together and alone.  Large
numbers are in the places of padding, so that logits differ wherever a model reads them.
"""

from __future__ import annotations

from typing import get_args

import numpy as np

from sardonyx._src.errors import SardonyxError
from sardonyx._src.generate.decoder.cache_pairs import CachePair
from sardonyx._src.generate.decoder.decoder import TokenDecoder
from sardonyx._src.generate.decoder.feeds import Alignment
from sardonyx._src.generate.decoder.padded_rows import PaddedRows, pad_states, read_rows
from sardonyx._src.ir import Array

LENGTHS, STEPS = (
    (7, 2),
    2,
)  # the first new token is written after padding, the second one is read after the first
MIN_TOKENS, MAX_TOKENS = 2, 1000  # of a vocabulary whose size is not declared, and of those that are tried
PADDING = 16.0
TOLERANCE = 0.02  # of the range of the logits: sums of other orders and rounding to int8 differ by less


def find_alignment(decoder: TokenDecoder) -> Alignment | None:
    """The alignment with which rows of different lengths have the logits of rows alone; None if neither has."""
    if not decoder.roles.caches or decoder.fixed_rows is not None or decoder.has_context:
        return None
    draw = np.random.default_rng(0)
    vocabulary = min(decoder.vocabulary or MIN_TOKENS, MAX_TOKENS)
    prompts = [draw.integers(0, vocabulary, (1, length)) for length in LENGTHS]
    following = draw.integers(0, vocabulary, (STEPS, len(LENGTHS)))
    states = [decoder.read(decoder.start(), prompt)[1] for prompt in prompts]
    pairs = decoder.roles.caches
    alone = [
        read_following(decoder, pad_states([state], pairs, "start"), following[:, [row]])
        for row, state in enumerate(states)
    ]
    expected = np.concatenate(alone, axis=1)
    alignments: tuple[Alignment, ...] = get_args(Alignment)
    for alignment in alignments:
        rows = fill_padding(pad_states(states, pairs, alignment))
        try:
            logits = read_following(decoder, rows, following)
        except SardonyxError:  # the model cannot run with these numbers
            continue
        if np.abs(logits - expected).max() <= TOLERANCE * np.ptp(expected):
            return alignment
    return None


def read_following(decoder: TokenDecoder, rows: PaddedRows, following: Array) -> Array:
    """Logits [steps, rows, vocabulary] after each of the tokens [steps, rows]."""
    logits = []
    for tokens in following:
        latest, rows = read_rows(decoder, rows, tokens[:, None])
        logits.append(latest[:, -1])
    return np.stack(logits)


def fill_padding(rows: PaddedRows) -> PaddedRows:
    """Rows with large numbers in the places of padding."""
    caches = {pair.past: filled(rows.caches[pair.past], pair, rows) for pair in rows.pairs}
    return PaddedRows(rows.tokens, caches, rows.pairs, rows.alignment)


def filled(cache: Array, pair: CachePair, rows: PaddedRows) -> Array:
    if pair.axis is None:
        return cache
    moved = np.moveaxis(cache, pair.axis, 1).copy()
    for row, length in enumerate(rows.lengths):
        missing = moved.shape[1] - length
        places = slice(length, None) if rows.alignment == "start" else slice(missing)
        moved[row, places] = PADDING
    return np.ascontiguousarray(np.moveaxis(moved, 1, pair.axis))
