"""Calls of decoder subgraphs, which compute the scores (logits) of the next token of each sequence.

There are two kinds: GPT decoders, and pairs of an encoder and a decoder (T5, Whisper).  A "past" holds the keys or values
of earlier tokens in one attention layer; the decoder returns it, extended, as a "present".

Spec: com.microsoft BeamSearch-1 GreedySearch-1 Sampling-1 WhisperBeamSearch-1, whose subgraphs onnxruntime describes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np

from sardonyx import DataType
from sardonyx.errors import EvaluationError
from sardonyx.ir import Graph, TensorType, Value
from sardonyx_generation.arrays import Array

Call = Callable[[Graph, Sequence[Array]], list[Array]]  # runs a subgraph
MAX_LENGTH = 4096  # the limit of max_length, as in onnxruntime


class TokenDecoder(Protocol):
    """A decoder with its pasts; sequences: [batch * beams, length], the tokens with which generation begins."""

    sequences: Array

    def begin(self) -> Array:
        """The logits of the first token: [batch * beams, vocabulary]."""
        ...

    def go_on(self, tokens: Array, sequences: Array, rows: Array | None) -> Array:
        """The logits of the next token.

        sequences: [batch * beams, length], all tokens so far.
        tokens: [batch * beams], the last token of each sequence.
        rows: for each sequence, the row that it had in the call before; None if it is the same for all.
        """
        ...


class GptDecoder:
    """Calls of a GPT decoder: (input_ids, position_ids, attention_mask, past_i...) -> (logits, present_i...).

    A past is [2, batch * beams, heads, length, head size].  If the decoder has one more input, `past_sequence_length`, the
    pasts are buffers for `max_length` tokens.
    """

    def __init__(
        self,
        call: Call,
        decoder: Graph,
        first: Graph | None,
        prompt: Array,
        mask: Array | None,
        pad_token: int,
        beams: int,
        max_length: int,
    ) -> None:
        """first: the subgraph of the first call; None if it is the decoder, too.  prompt, mask: [batch, length]."""
        self.call, self.decoder, self.first = call, decoder, first or decoder
        is_token = prompt != pad_token
        positions = np.where(
            is_token, is_token.cumsum(axis=1) - 1, 0
        )  # padding is not counted, even if the mask is 1
        lengths = is_token.sum(axis=1, keepdims=True)
        self.sequences, self.mask, self.prompt_positions, self.positions = (
            np.repeat(x.astype(np.int32), beams, axis=0)
            for x in (prompt, is_token if mask is None else mask, positions, lengths)
        )
        self.kept = np.ones((len(self.sequences), 1), np.int32)  # the mask of generated tokens
        extra = len(decoder.inputs) - len(decoder.outputs) - 2
        if extra not in (0, 1) or len(decoder.outputs) < 2:
            counts = f"{len(decoder.inputs)} inputs and {len(decoder.outputs)} outputs"
            raise EvaluationError(
                f"decoder must have inputs for tokens, positions, mask and every past; got {counts}"
            )
        self.shares_buffers, self.length = extra == 1, 0
        length = max_length if self.shares_buffers else 0
        pasts = decoder.inputs[3 : len(decoder.inputs) - extra]
        self.pasts = [empty_past(value, len(self.sequences), length) for value in pasts]

    def begin(self) -> Array:
        return self.run(self.first, self.sequences, self.prompt_positions)

    def go_on(self, tokens: Array, sequences: Array, rows: Array | None) -> Array:
        self.mask = np.concatenate((self.mask, self.kept), axis=1)
        self.pasts = select_rows(self.pasts, rows, axis=1)
        logits = self.run(self.decoder, tokens[:, None], self.positions)
        self.positions = self.positions + np.int32(1)
        return logits

    def run(self, graph: Graph, tokens: Array, positions: Array) -> Array:
        lengths = [np.array([self.length], np.int32)] if self.shares_buffers else []
        logits, *self.pasts = self.call(graph, [tokens, positions, self.mask, *self.pasts, *lengths])
        self.length += tokens.shape[1]
        return last_logits(logits, len(tokens))


class EncoderDecoder:
    """Calls of an encoder, once for each prompt, and of a decoder for each token; inputs in brackets are optional.

    Encoder: (encoder_input_ids, [encoder_attention_mask], [decoder_input_ids]) -> ([logits, encoder_hidden_states],
    past_i...).  If it receives the first tokens of the decoder, it also runs the decoder, and returns logits.
    Decoder: (input_ids, [encoder_attention_mask], [encoder_hidden_states], past_i...) -> (logits, present_i...).
    The pasts of the decoder's own attention come first, then those of the attention to the encoder.  A past is
    [batch * beams, heads, length, head size].
    """

    def __init__(
        self, call: Call, encoder: Graph, decoder: Graph, inputs: Sequence[Array], start: Array, beams: int
    ) -> None:
        """inputs: the prompt and, if there is one, its mask.  start: [batch, length], the first tokens of the decoder."""
        self.call, self.encoder, self.decoder = call, encoder, decoder
        self.inputs, self.start, self.beams = [*inputs], start.astype(np.int32), beams
        self.sequences = np.repeat(self.start, beams, axis=0)
        self.leading: list[Array] = []  # the inputs of the decoder between the tokens and the pasts
        self.pasts: list[Array] = []

    def begin(self) -> Array:
        has_start = len(self.encoder.inputs) > len(self.inputs)
        results = self.call(self.encoder, [*self.inputs, self.start] if has_start else self.inputs)
        states = results[2:] if has_start else results
        names = [value.name for value in self.decoder.inputs]
        leading = self.inputs[1:] if "encoder_attention_mask" in names else []
        if has_start and "encoder_hidden_states" in names:
            leading = [*leading, results[1]]
        self.leading = [self.expand(x) for x in leading]
        self.pasts = [self.expand(x) for x in states]
        if has_start:
            return self.expand(last_logits(results[0], len(self.start)))
        own = self.decoder.inputs[1 + len(leading) : len(self.decoder.inputs) - len(states)]
        self.pasts = [empty_past(value, len(self.sequences), 0) for value in own] + self.pasts
        return self.run(self.sequences)

    def go_on(self, tokens: Array, sequences: Array, rows: Array | None) -> Array:
        count = (
            len(self.decoder.outputs) - 1
        )  # the decoder's own pasts; those of the encoder are the same for all beams of a prompt
        self.pasts[:count] = select_rows(self.pasts[:count], rows, axis=0)
        declared = self.decoder.inputs[0].type
        takes_one = isinstance(declared, TensorType) and declared.shape is not None and declared.shape[1] == 1
        return self.run(tokens[:, None] if takes_one else sequences)

    def run(self, tokens: Array) -> Array:
        logits, *presents = self.call(self.decoder, [tokens, *self.leading, *self.pasts])
        self.pasts[: len(presents)] = presents
        return last_logits(logits, len(tokens))

    def expand(self, array: Array) -> Array:
        """[batch, ...] as [batch * beams, ...]."""
        return np.repeat(array, self.beams, axis=0)


def select_rows(pasts: Sequence[Array], rows: Array | None, axis: int) -> list[Array]:
    """The pasts of the sequences in `rows`, without copies if these are all rows in order, as None means."""
    if rows is None or rows.tolist() == [*range(len(rows))]:
        return [*pasts]
    return [past.take(rows, axis=axis) for past in pasts]


def empty_past(value: Value, rows: int, length: int) -> Array:
    """The past of a decoder before its first call; the declared type of the input gives heads and head size."""
    declared = value.type
    if isinstance(declared, TensorType) and declared.shape is not None and len(declared.shape) in (4, 5):
        *lead, _, heads, _, size = declared.shape
        if isinstance(heads, int) and isinstance(size, int) and declared.dtype is not DataType.UNDEFINED:
            return np.zeros((*((2,) if lead else ()), rows, heads, length, size), declared.dtype.numpy)
    raise EvaluationError(
        f"input {value.name!r} of the decoder must declare its heads and its head size; got {declared}"
    )


def last_logits(logits: Array, rows: int) -> Array:
    """The logits of the last position as float32: [rows, vocabulary]."""
    if logits.ndim != 3 or len(logits) != rows or not logits.shape[1]:
        raise EvaluationError(
            f"logits must have shape [{rows}, length, vocabulary]; got {list(logits.shape)}"
        )
    return logits[:, -1].astype(np.float32)
