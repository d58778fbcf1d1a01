"""Hashes of n-grams of com.microsoft.

For every token and every n from 2 on, the n-gram that ends at the token is hashed: its tokens are multiplied by constants
and combined by xor.  Each of several "heads" then takes the hash modulo its own vocabulary size.

Spec: com.microsoft NGramHashMapping-1 VarlenNGramHashMapping-1, as onnxruntime computes them.  The tokens before the first
one (the context) are those of an earlier call, or padding.  Arithmetic wraps around in the type of the tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array, TensorType, Type
from sardonyx._src.ir.dims import Dim
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.microsoft.text import DOMAIN

mapping = Operator("NGramHashMapping", DOMAIN, about="hashes of the n-grams that end at each token")
packed_mapping = Operator(
    "VarlenNGramHashMapping", DOMAIN, about="NGramHashMapping of packed sequences of several lengths"
)


@dataclass(frozen=True, slots=True)
class Hashing:
    """The parameters of one call.

    size: the largest n.
    heads: the number of heads for each n.
    multipliers: [size or more], the factors of the tokens, from the last token of an n-gram back.
    vocab_sizes: [(size - 1) * heads], the moduli.
    offsets: [(size - 1) * heads], added to the hashes; None for none.
    padding: the token that replaces missing ones
    end: the token that ends a text; n-grams that reach back over it have padding instead.  None for no such token.
    """

    size: int
    heads: int
    multipliers: Array
    vocab_sizes: Array
    offsets: Array | None
    padding: int
    end: int | None

    def hash_row(self, tokens: Array, segments: Array | None) -> Array:
        """The hashes of a sequence: [length, (size - 1) * heads].

        tokens: [size - 1 + length], with their context; segments: for each token the number of its segment, or None.  An
        n-gram that reaches back into another segment has padding instead.
        """
        context = self.size - 1
        length, dtype = len(tokens) - context, tokens.dtype
        is_cut = np.zeros(length, bool)
        mix = tokens[context:] * self.multipliers[0]
        columns = []
        for shift in range(1, self.size):
            shifted = tokens[context - shift : len(tokens) - shift]
            if self.end is not None:
                is_cut = is_cut | (shifted == self.end)
            if segments is not None:
                later = segments[context - shift + 1 : len(segments) - shift + 1]
                is_cut = is_cut | (segments[context - shift : len(segments) - shift] != later)
            mix = mix ^ (np.where(is_cut, dtype.type(self.padding), shifted) * self.multipliers[shift])
            for head in range(self.heads):
                column = (shift - 1) * self.heads + head
                hashed = np.mod(mix, self.vocab_sizes[column])
                columns.append(hashed if self.offsets is None else hashed + self.offsets[column])
        return np.stack(columns, axis=-1).astype(dtype)


def make_hashing(
    multipliers: Array,
    vocab_sizes: Array,
    head_offsets: Array | None,
    eos_token_id: Array | None,
    *,
    max_ngram_size: int,
    n_head_per_ngram: int,
    pad_id: int,
    reset_on_eos: int,
) -> Hashing:
    """The parameters; raises EvaluationError for inconsistent sizes and for a vocabulary size below 1."""
    heads = (max_ngram_size - 1) * n_head_per_ngram
    if max_ngram_size < 2 or n_head_per_ngram < 1 or len(multipliers) < max_ngram_size:
        raise EvaluationError(
            f"multipliers must have at least max_ngram_size = {max_ngram_size} >= 2 elements; got {len(multipliers)}"
        )
    if vocab_sizes.shape != (heads,) or vocab_sizes.min(initial=1) < 1:
        raise EvaluationError(f"vocab_sizes must be {heads} positive sizes; got {vocab_sizes.tolist()}")
    end = None if eos_token_id is None else int(eos_token_id.reshape(()))
    return Hashing(
        max_ngram_size,
        n_head_per_ngram,
        multipliers,
        vocab_sizes,
        head_offsets,
        pad_id if end is None else end,
        end if reset_on_eos else None,
    )


@mapping.infer(1)
def infer(inference: Inference) -> Result:
    return infer_hashes(inference, first_of(inference, 0))


@packed_mapping.infer(1)
def infer_packed(inference: Inference) -> Result:
    """The types that `infer` returns, with the number of sequences from their bounds, and types of outputs for the next call."""
    bounds = inference.shape(3)
    batch = None if bounds is None or not isinstance(bounds[0], int) else bounds[0] - 1
    context = inference.integer("max_ngram_size") - 1
    types = infer_hashes(inference, inference.new_dim() if batch is None else batch)
    ids = types[1] if len(types) > 1 else None
    segments = TensorType(DataType.INT32, ids.shape if isinstance(ids, TensorType) else None)
    dtype = inference.dtype(0)
    updates = None
    if dtype is not None and isinstance(ids, TensorType) and ids.shape is not None:
        updates = TensorType(dtype, (ids.shape[0], inference.integer("state_update_capacity"), context))
    return [*types, segments, updates][: inference.outputs]


def first_of(inference: Inference, i: int) -> Dim:
    shape = inference.shape(i)
    return None if shape is None else shape[0]


def infer_hashes(inference: Inference, batch: Dim) -> list[Type | None]:
    """The types of the hashes and of the tokens for the next call."""
    dtype, shape = inference.dtype(0), inference.shape(0)
    if dtype is None:
        return [None, None]
    context = inference.integer("max_ngram_size") - 1
    heads = context * inference.integer("n_head_per_ngram")
    hashes = TensorType(dtype, None if shape is None else (*shape, heads))
    return [hashes, TensorType(dtype, (batch, context))]


@mapping.eval(1)
def evaluate(
    input_ids: Array,
    multipliers: Array,
    vocab_sizes: Array,
    past_ids: Array | None = None,
    head_offsets: Array | None = None,
    eos_token_id: Array | None = None,
    segment_ids: Array | None = None,
    *,
    max_ngram_size: int,
    n_head_per_ngram: int,
    pad_id: int,
    reset_on_eos: int,
) -> tuple[Array, Array]:
    """The hashes, [batch, length, (n - 1) * heads], and the last tokens as context of the next call, [batch, n - 1].

    input_ids: [batch, length]; past_ids: [batch, n - 1]; n is max_ngram_size.
    The context belongs to the segment of the first token.
    """
    hashing = make_hashing(
        multipliers,
        vocab_sizes,
        head_offsets,
        eos_token_id,
        max_ngram_size=max_ngram_size,
        n_head_per_ngram=n_head_per_ngram,
        pad_id=pad_id,
        reset_on_eos=reset_on_eos,
    )
    tokens = with_context(hashing, past_ids, input_ids)
    rows = []
    for i, row in enumerate(tokens):
        segments = None
        if segment_ids is not None:
            first = segment_ids[i, :1].repeat(max_ngram_size - 1)
            segments = np.concatenate((first, segment_ids[i]))
        rows.append(hashing.hash_row(row, segments))
    hashes = np.array(rows, input_ids.dtype).reshape(*input_ids.shape, -1)
    return hashes, tokens[:, tokens.shape[1] - (max_ngram_size - 1) :].copy()


def with_context(hashing: Hashing, past_ids: Array | None, ids: Array) -> Array:
    """ids, [batch, length], with their context: [batch, n - 1 + length]."""
    shape = (len(ids), hashing.size - 1)
    past = np.full(shape, hashing.padding, ids.dtype) if past_ids is None else past_ids
    if past.shape != shape:
        raise EvaluationError(f"past_ids must have shape {list(shape)}; got {list(past.shape)}")
    return np.concatenate((past, ids), axis=1)


@packed_mapping.eval(1)
def evaluate_packed(
    input_ids: Array,
    multipliers: Array,
    vocab_sizes: Array,
    cumulative_sequence_length: Array,
    past_ids: Array | None = None,
    head_offsets: Array | None = None,
    eos_token_id: Array | None = None,
    segment_ids: Array | None = None,
    past_segment_ids: Array | None = None,
    capture_count: Array | None = None,
    *,
    max_ngram_size: int,
    n_head_per_ngram: int,
    pad_id: int,
    reset_on_eos: int,
    state_update_capacity: int,
) -> tuple[Array, Array, Array, Array]:
    """The hashes, [tokens, (n - 1) * heads]; the last tokens and their segments, as context of the next call, [batch, n - 1]
    each; and the contexts after each of the first `capture_count` tokens, [batch, state_update_capacity, n - 1].

    input_ids: [tokens], the sequences one after the other; cumulative_sequence_length: [batch + 1], their bounds.
    """
    hashing = make_hashing(
        multipliers,
        vocab_sizes,
        head_offsets,
        eos_token_id,
        max_ngram_size=max_ngram_size,
        n_head_per_ngram=n_head_per_ngram,
        pad_id=pad_id,
        reset_on_eos=reset_on_eos,
    )
    if (capture_count is None) != (state_update_capacity == 0):
        raise EvaluationError("capture_count must be given exactly if state_update_capacity is positive")
    context, bounds = max_ngram_size - 1, cumulative_sequence_length.tolist()
    check_bounds(bounds, len(input_ids))
    batch = len(bounds) - 1
    rows: list[Array] = []
    present = np.zeros((batch, context), input_ids.dtype)
    present_segments = np.zeros((batch, context), np.int32)
    updates = np.full((batch, state_update_capacity, context), pad_id, input_ids.dtype)
    for i, (start, end) in enumerate(pairwise(bounds)):
        past = None if past_ids is None else past_ids[i : i + 1]
        tokens = with_context(hashing, past, input_ids[None, start:end])[0]
        segments = None
        if segment_ids is not None:
            earlier = segment_ids[start : start + 1].repeat(context)
            if past_segment_ids is not None:
                earlier = past_segment_ids[i]
            segments = np.concatenate((earlier, segment_ids[start:end]))
            present_segments[i] = segments[len(segments) - context :]
        rows.append(hashing.hash_row(tokens, segments))
        present[i] = tokens[len(tokens) - context :]
        captured = (
            0 if capture_count is None else min(int(capture_count[i]), end - start, state_update_capacity)
        )
        for j in range(captured):
            updates[i, j] = tokens[j + 1 : j + 1 + context]
    return np.concatenate(rows), present, present_segments, updates


def check_bounds(bounds: Sequence[int], tokens: int) -> None:
    """Raises EvaluationError unless the bounds split the tokens into sequences of one token or more."""
    is_split = bounds and bounds[0] == 0 and bounds[-1] == tokens
    if not is_split or any(a >= b for a, b in pairwise(bounds)):
        raise EvaluationError(
            f"cumulative_sequence_length must rise from 0 to the number of tokens, {tokens}; got {list(bounds)}"
        )
