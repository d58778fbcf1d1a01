"""BeamSearch and WhisperBeamSearch of com.microsoft: the best sequences that decoder subgraphs generate.

Spec: com.microsoft BeamSearch-1 WhisperBeamSearch-1, as onnxruntime computes them.  The outputs for the products of
queries and keys of cross attention (`cross_qk`) and for the probabilities of silence are not supported.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sardonyx import DataType
from sardonyx.errors import EvaluationError
from sardonyx.ir import Graph, TensorType
from sardonyx.plugins import Inference, RunContext, check_result_bytes, operator
from sardonyx_generation.arrays import Array
from sardonyx_generation.beam_hypotheses import Beams
from sardonyx_generation.decoder_calls import EncoderDecoder, GptDecoder, TokenDecoder
from sardonyx_generation.greedy_search import DOMAIN, batch_dim, number_dim, require_length, subgraph_call
from sardonyx_generation.token_scores import ScoreRules, TimestampTokens, number

GPT, ENCODER_DECODER = range(2)  # values of model_type
WITH_TIMESTAMPS = 1  # value of logits_processor
MAX_BEAMS = 128


def infer_beams(inference: Inference) -> list[TensorType]:
    dtype, batch, returned = DataType.FLOAT, batch_dim(inference), number_dim(inference, 4)
    any_dim = inference.new_dim
    results = [
        TensorType(DataType.INT32, (batch, returned, number_dim(inference, 1))),
        TensorType(dtype, (batch, returned)),
        TensorType(dtype, (any_dim(), batch, number_dim(inference, 3), any_dim())),
        TensorType(dtype),
        TensorType(dtype, (batch,)),
    ]
    return results[: inference.outputs]


@dataclass(frozen=True, slots=True)
class Search:
    """The parameters of a search.

    length: the length of the results.
    beams: the number of beams of each prompt.
    returned: the number of results for each prompt, at most `beams`.
    length_penalty, ends_early: as in `Hypotheses`.
    pad_token: the token after the end of a sequence.
    vocabulary: the number of tokens that may be chosen; 0 for all of the decoder's.
    """

    length: int
    beams: int
    returned: int
    length_penalty: float
    ends_early: bool
    pad_token: int
    vocabulary: int

    @classmethod
    def of(
        cls,
        length: int,
        num_beams: Array,
        num_return_sequences: Array,
        length_penalty: Array | None,
        early_stopping: int,
        pad_token: int,
        vocabulary: int,
    ) -> Search:
        beams, returned = int(number(num_beams, 1)), int(number(num_return_sequences, 1))
        if not 1 <= beams <= MAX_BEAMS:
            raise EvaluationError(f"num_beams must be from 1 to {MAX_BEAMS}; got {beams}")
        if not 1 <= returned <= beams:
            raise EvaluationError(
                f"num_return_sequences must be from 1 to num_beams ({beams}); got {returned}"
            )
        penalty = number(length_penalty, 1.0)
        return cls(length, beams, returned, penalty, early_stopping == 1, pad_token, max(vocabulary, 0))


@operator(DOMAIN, name="BeamSearch", infer=infer_beams, tolerance="rounding")
def beam_search(
    input_ids: Array,
    max_length: Array,
    min_length: Array | None,
    num_beams: Array,
    num_return_sequences: Array,
    length_penalty: Array | None = None,
    repetition_penalty: Array | None = None,
    vocab_mask: Array | None = None,
    prefix_vocab_mask: Array | None = None,
    attention_mask: Array | None = None,
    decoder_input_ids: Array | None = None,
    logits_processor: Array | None = None,
    *,
    decoder: Graph,
    init_decoder: Graph | None = None,
    encoder: Graph | None = None,
    model_type: int,
    eos_token_id: int,
    pad_token_id: int,
    decoder_start_token_id: int,
    no_repeat_ngram_size: int,
    early_stopping: int,
    vocab_size: int,
    context: RunContext,
) -> tuple[Array, ...]:
    """the best sequences of a decoder

    Returns the sequences, their scores, and the sums of all steps.

    input_ids: [batch, length]; sequences: [batch, returned, max_length] int32, padded after the end token; scores: [batch,
    returned]; sums: [steps, batch, beams, vocabulary], of each beam with each next token.
    """
    if model_type not in (GPT, ENCODER_DECODER) or number(logits_processor, 0):
        raise EvaluationError(f"model_type must be 0 (GPT) or 1 (an encoder and a decoder); got {model_type}")
    rules = ScoreRules.of(
        eos_token_id,
        min_length,
        repetition_penalty,
        vocab_mask,
        prefix_vocab_mask,
        no_repeat_ngram_size,
    )
    call, counts = subgraph_call(context), (num_beams, num_return_sequences)
    if model_type == GPT:
        length = require_length(max_length, input_ids)
        search = Search.of(length, *counts, length_penalty, early_stopping, pad_token_id, vocab_size)
        beams = search.beams
        gpt = GptDecoder(call, decoder, init_decoder, input_ids, attention_mask, pad_token_id, beams, length)
        return search_beams(gpt, rules, search, context)
    start = first_tokens(None, decoder_start_token_id, input_ids)
    length = require_length(max_length, input_ids, start.shape[1])
    search = Search.of(length, *counts, length_penalty, early_stopping, pad_token_id, vocab_size)
    inputs = [input_ids, prompt_mask(input_ids, attention_mask, pad_token_id)]
    pair = EncoderDecoder(call, require_encoder(encoder), decoder, inputs, start, search.beams)
    return search_beams(pair, rules, search, context)


@operator(DOMAIN, name="WhisperBeamSearch", infer=infer_beams, tolerance="rounding")
def whisper_beam_search(
    input_ids: Array,
    max_length: Array,
    min_length: Array | None,
    num_beams: Array,
    num_return_sequences: Array,
    length_penalty: Array | None = None,
    repetition_penalty: Array | None = None,
    vocab_mask: Array | None = None,
    prefix_vocab_mask: Array | None = None,
    attention_mask: Array | None = None,
    decoder_input_ids: Array | None = None,
    logits_processor: Array | None = None,
    cross_qk_layer_head: Array | None = None,
    extra_decoding_ids: Array | None = None,
    temperature: Array | None = None,
    *,
    decoder: Graph,
    init_decoder: Graph | None = None,
    encoder: Graph | None = None,
    model_type: int,
    eos_token_id: int,
    pad_token_id: int,
    decoder_start_token_id: int,
    no_repeat_ngram_size: int,
    early_stopping: int,
    vocab_size: int,
    decoder_output_cross_qk: int = 0,
    no_speech_token_id: int = -1,
    beginning_timestamp_token_id: int = -1,
    no_timestamps_token_id: int = -1,
    start_of_lm_token_id: int = -1,
    transcribe_token_id: int = -1,
    translate_token_id: int = -1,
    context: RunContext,
) -> tuple[Array, ...]:
    """the best transcripts of Whisper

    input_ids: [batch, features, frames]; decoder_input_ids: [batch, length].  The results are those of BeamSearch;
    `init_decoder` and `model_type` change nothing.
    """
    if decoder_output_cross_qk or any(context.requested_outputs[3:]):
        raise EvaluationError(
            "WhisperBeamSearch computes neither cross_qk nor non_speech_probs; leave them out"
        )
    timestamps = TimestampTokens(
        beginning_timestamp_token_id,
        (no_timestamps_token_id, start_of_lm_token_id),
        (decoder_start_token_id, translate_token_id, transcribe_token_id),
    )
    rules = ScoreRules.of(
        eos_token_id,
        min_length,
        repetition_penalty,
        vocab_mask,
        prefix_vocab_mask,
        no_repeat_ngram_size,
        temperature=number(temperature, 1.0),
        timestamps=timestamps if number(logits_processor, 0) == WITH_TIMESTAMPS else None,
    )
    start = first_tokens(decoder_input_ids, decoder_start_token_id, input_ids)
    length = require_length(max_length, input_ids, start.shape[1])
    counts = (num_beams, num_return_sequences)
    search = Search.of(length, *counts, length_penalty, early_stopping, pad_token_id, vocab_size)
    call = subgraph_call(context)
    pair = EncoderDecoder(call, require_encoder(encoder), decoder, [input_ids], start, search.beams)
    return search_beams(pair, rules, search, context)


def require_encoder(encoder: Graph | None) -> Graph:
    if encoder is None:
        raise EvaluationError("encoder must be a graph; got none")
    return encoder


def first_tokens(tokens: Array | None, start_token: int, prompt: Array) -> Array:
    """The tokens that the decoder begins with: [batch, length]."""
    if tokens is not None:
        return tokens
    if start_token < 0:
        raise EvaluationError("decoder_start_token_id must be a token; got none")
    return np.full((len(prompt), 1), start_token, np.int32)


def prompt_mask(prompt: Array, mask: Array | None, pad_token: int) -> Array:
    """The mask of the encoder: 0 for padding before the prompt."""
    if mask is not None:
        return mask
    return np.logical_or.accumulate(prompt != pad_token, axis=1).astype(np.int32)


def search_beams(
    decoder: TokenDecoder, rules: ScoreRules, search: Search, context: RunContext
) -> tuple[Array, ...]:
    """The sequences, their scores, and the sums of all steps, which are empty unless requested."""
    sequences, first = decoder.sequences, decoder.sequences.shape[1]
    batch = len(sequences) // search.beams
    check_result_bytes(context, (batch, search.returned, search.length), np.int32, "sequences")
    beams = Beams.start(
        batch,
        search.beams,
        rules.end_token,
        search.pad_token,
        search.length_penalty,
        ends_early=search.ends_early,
    )
    collects = len(context.requested_outputs) > 2 and context.requested_outputs[2]
    steps: list[Array] = []
    logits = decoder.begin()
    while True:
        context.check()
        logits = logits[:, : search.vocabulary or None]
        scores = rules.apply(log_softmax(logits), sequences, is_first=sequences.shape[1] == first)
        totals = scores + beams.scores[:, None]
        if collects:
            check_result_bytes(context, (len(steps) + 1, *totals.shape), np.float32, "scores")
            steps.append(totals)
        tokens, rows = beams.choose(totals, sequences)
        sequences = np.concatenate((sequences[rows], tokens[:, None]), axis=1)
        if beams.is_done.all() or sequences.shape[1] == search.length:
            break
        logits = decoder.go_on(tokens, sequences, rows)
    beams.close(sequences)
    all_steps = (
        stack_steps(steps, search, batch, logits.shape[1], first) if collects else np.zeros(0, np.float32)
    )
    return *best_sequences(beams, search), all_steps


def best_sequences(beams: Beams, search: Search) -> tuple[Array, Array]:
    shape = (len(beams.finished), search.returned)
    sequences, scores = (
        np.full((*shape, search.length), search.pad_token, np.int32),
        np.zeros(shape, np.float32),
    )
    for prompt, hypotheses in enumerate(beams.finished):
        for rank, (score, sequence) in enumerate(hypotheses.items[: search.returned]):
            sequences[prompt, rank, : len(sequence)], scores[prompt, rank] = sequence, score
    return sequences, scores


def stack_steps(steps: list[Array], search: Search, batch: int, vocabulary: int, first: int) -> Array:
    """The sums of all steps that `max_length` permits; 0 for steps after the end of the search."""
    result = np.zeros((search.length - first, batch, search.beams, vocabulary), np.float32)
    for step, scores in enumerate(steps):
        result[step] = scores.reshape(result.shape[1:])
    return result


def log_softmax(logits: Array) -> Array:
    """The logarithms of the tokens' probabilities: [rows, vocabulary] float32."""
    shifted = logits - np.maximum.reduce(logits, axis=1, keepdims=True)
    return np.asarray(shifted - np.log(np.add.reduce(np.exp(shifted), axis=1, keepdims=True)))
