"""Rules that change the scores of the next token, before GreedySearch, Sampling or BeamSearch of com.microsoft choose one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sardonyx.errors import EvaluationError
from sardonyx_generation.arrays import Array

LOWEST = float(np.finfo(np.float32).min)  # the score of a token that must not come next
LATEST_FIRST_TIMESTAMP = (
    50  # the first timestamp of a sequence is at most this many tokens after the lowest one
)


@dataclass(frozen=True, slots=True)
class TimestampTokens:
    """The tokens of Whisper that matter for timestamps.

    first: the lowest timestamp; all tokens from this one on are timestamps, in ascending order of time.
    never: tokens that must not be generated.
    only_first: tokens that must not be generated after the first timestamp.
    """

    first: int
    never: tuple[int, ...]
    only_first: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ScoreRules:
    """The rules of a search, which are applied in the order of the fields.

    end_token: the token that ends a sequence.
    repetition_penalty: negative scores of tokens in the sequence are multiplied by it, other scores of them divided.
    ngram_size: no n-gram of this size occurs twice in a sequence; 0 for no such rule.
    vocab_mask: [vocabulary], 0 for tokens that must not be generated.
    prefix_vocab_mask: [batch, vocabulary], 0 for tokens that must not be generated first.
    min_length: the length that a sequence must have before the end token.
    temperature: scores are divided by it.
    presence: [batch, vocabulary], subtracted from the scores.
    timestamps: the tokens of Whisper, whose timestamps come in pairs and in ascending order; None for no such rule.
    """

    end_token: int
    repetition_penalty: float = 1
    ngram_size: int = 0
    vocab_mask: Array | None = None
    prefix_vocab_mask: Array | None = None
    min_length: int = 0
    temperature: float = 1
    presence: Array | None = None
    timestamps: TimestampTokens | None = None

    @classmethod
    def of(
        cls,
        end_token: int,
        min_length: Array | None,
        repetition_penalty: Array | None,
        vocab_mask: Array | None,
        prefix_vocab_mask: Array | None,
        ngram_size: int,
        *,
        temperature: float = 1,
        presence: Array | None = None,
        timestamps: TimestampTokens | None = None,
    ) -> ScoreRules:
        """The rules from the inputs of an operator: arrays of one element, None for an omitted input."""
        penalty, length = number(repetition_penalty, 1.0), int(number(min_length, 0))
        return cls(
            end_token,
            penalty,
            ngram_size,
            vocab_mask,
            prefix_vocab_mask,
            length,
            temperature,
            presence,
            timestamps,
        )

    def apply(self, scores: Array, sequences: Array, *, is_first: bool) -> Array:
        """scores, result: [batch * beams, vocabulary] float32; sequences: [batch * beams, length] tokens so far."""
        scores = scores.copy()
        vocabulary = scores.shape[1]
        if self.repetition_penalty != 1:
            penalize_repetition(scores, sequences, self.repetition_penalty)
        if 0 < self.ngram_size <= sequences.shape[1]:
            for row, sequence in zip(scores, sequences, strict=True):
                row[repeating_tokens(sequence, self.ngram_size)] = LOWEST
        if self.vocab_mask is not None:
            scores[:, require_shape("vocab_mask", self.vocab_mask, (vocabulary,)) == 0] = LOWEST
        if self.prefix_vocab_mask is not None and is_first:
            mask = self.prefix_vocab_mask
            beams = len(scores) // max(len(mask), 1)
            require_shape("prefix_vocab_mask", mask, (len(scores) // max(beams, 1), vocabulary))
            scores[np.repeat(mask == 0, beams, axis=0)] = LOWEST
        if sequences.shape[1] < self.min_length:
            scores[:, self.end_token] = LOWEST
        if self.temperature not in (0, 1):
            scores /= np.float32(self.temperature)
        if self.presence is not None:
            scores -= require_shape("presence_mask", self.presence, scores.shape)
        if self.timestamps is not None:
            for row, sequence in zip(scores, sequences, strict=True):
                order_timestamps(row, sequence, self.timestamps, self.end_token)
        return scores


def penalize_repetition(scores: Array, sequences: Array, penalty: float) -> None:
    rows = np.arange(len(scores))[:, None]
    present = scores[
        rows, sequences
    ]  # read before any is changed: a token is penalized once, however often it occurs
    factor = np.float32(penalty)
    scores[rows, sequences] = np.where(present < 0, present * factor, present / factor)


def repeating_tokens(sequence: Array, size: int) -> Array:
    """The tokens that would complete an n-gram which the sequence already contains."""
    grams = np.lib.stride_tricks.sliding_window_view(sequence, size)
    repeats = (grams[:, :-1] == sequence[len(sequence) - size + 1 :]).all(axis=1)
    return np.asarray(grams[repeats, -1])


def order_timestamps(scores: Array, sequence: Array, tokens: TimestampTokens, end_token: int) -> None:
    """Applies Whisper's rules for timestamps to the scores of one sequence, [vocabulary], logarithms of probabilities."""
    first, size = tokens.first, len(scores)
    is_timestamp = sequence >= first
    begin = int(is_timestamp.argmax()) + 1 if is_timestamp.any() else len(sequence)
    banned = tokens.never + (tokens.only_first if len(sequence) > begin else ())
    scores[[token for token in banned if 0 <= token < size]] = LOWEST
    follows = len(sequence) > 0 and bool(is_timestamp[-1])
    is_paired = len(sequence) <= begin or bool(is_timestamp[-2])
    if follows and is_paired:
        scores[first:] = LOWEST
    elif follows:
        scores[:end_token] = LOWEST
    if is_timestamp.any():
        last = int(sequence[is_timestamp][-1])
        scores[first : last if follows and not is_paired else last + 1] = LOWEST
    if len(sequence) == begin:
        scores[first + LATEST_FIRST_TIMESTAMP + 1 :] = LOWEST
    prefer_timestamps(scores, first)


def prefer_timestamps(scores: Array, first: int) -> None:
    """Excludes all text tokens if the timestamps together are likelier than any text token."""
    timestamp_scores, text_scores = scores[first:], scores[:first]
    if timestamp_scores.size and text_scores.size:
        top = timestamp_scores.max()
        if top + np.log(np.exp(timestamp_scores - top).sum()) > text_scores.max():
            text_scores[:] = LOWEST


def require_shape(name: str, array: Array, shape: tuple[int, ...]) -> Array:
    """The array; raises EvaluationError if it has another shape."""
    if array.shape != shape:
        raise EvaluationError(f"{name} must have shape {list(shape)}; got {list(array.shape)}")
    return array


def number(value: Array | None, default: float) -> float:
    """The element of an input with one element; `default` if the input is omitted."""
    if value is None:
        return default
    if value.size != 1:
        raise EvaluationError(f"a parameter of generation must have one element; got {value.size}")
    return float(value.item())
