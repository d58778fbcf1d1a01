"""GreedySearch and Sampling of com.microsoft: sequences that a GPT decoder continues token by token.

Spec: com.microsoft GreedySearch-1 Sampling-1, as onnxruntime computes them.  Sampling draws tokens with NumPy's random
generator, so its sequences differ from those of onnxruntime for the same seed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from sardonyx import DataType
from sardonyx.errors import EvaluationError
from sardonyx.ir import Graph, TensorType
from sardonyx.plugins import Dim, Inference, RunContext, bind_body, check_result_bytes, operator
from sardonyx_generation.arrays import Array
from sardonyx_generation.decoder_calls import MAX_LENGTH, Call, GptDecoder
from sardonyx_generation.token_scores import ScoreRules, number

DOMAIN = "com.microsoft"
GPT = 0  # value of model_type
Choose = Callable[[Array], Array]  # from scores, [batch, vocabulary], to tokens, [batch]


def batch_dim(inference: Inference) -> Dim:
    """The number of prompts."""
    shape = inference.shape(0)
    return shape[0] if shape else inference.new_dim()


def number_dim(inference: Inference, index: int) -> Dim:
    """The element of an input as a dim; a new dim if it is not known."""
    value = inference.constant(index)
    return int(value.item()) if value is not None and value.size == 1 else inference.new_dim()


def infer_sequences(inference: Inference) -> list[TensorType]:
    """[batch, max_length], and the logits of the last step: [batch, vocabulary]."""
    batch = batch_dim(inference)
    sequences = TensorType(DataType.INT32, (batch, number_dim(inference, 1)))
    if inference.outputs < 2:
        return [sequences]
    return [sequences, TensorType(DataType.FLOAT, (batch, inference.new_dim()))]


@operator(DOMAIN, name="GreedySearch", infer=infer_sequences)
def greedy_search(
    input_ids: Array,
    max_length: Array,
    min_length: Array | None = None,
    repetition_penalty: Array | None = None,
    vocab_mask: Array | None = None,
    prefix_vocab_mask: Array | None = None,
    attention_mask: Array | None = None,
    *,
    decoder: Graph,
    init_decoder: Graph | None = None,
    encoder: Graph | None = None,
    decoder_start_token_id: int,
    eos_token_id: int,
    pad_token_id: int,
    no_repeat_ngram_size: int,
    model_type: int,
    vocab_size: int,
    context: RunContext,
) -> Array:
    """sequences continued by the likeliest token

    input_ids: [batch, length]; result: [batch, max_length] int32, padded after the end token.  Only decoders of encoders
    have a use for `encoder` and `decoder_start_token_id`.
    """
    rules = ScoreRules.of(
        eos_token_id,
        min_length,
        repetition_penalty,
        vocab_mask,
        prefix_vocab_mask,
        no_repeat_ngram_size,
    )
    length = require_length(max_length, input_ids)
    require_gpt(model_type)
    call = subgraph_call(context)
    gpt = GptDecoder(call, decoder, init_decoder, input_ids, attention_mask, pad_token_id, 1, length)
    return generate(gpt, rules, length, pad_token_id, vocab_size, context, lambda x: x.argmax(axis=1))


@operator(DOMAIN, name="Sampling", infer=infer_sequences, tolerance="random")
def sampling(
    input_ids: Array,
    max_length: Array,
    min_length: Array | None = None,
    repetition_penalty: Array | None = None,
    vocab_mask: Array | None = None,
    prefix_vocab_mask: Array | None = None,
    attention_mask: Array | None = None,
    presence_mask: Array | None = None,
    seed: Array | None = None,
    *,
    decoder: Graph,
    init_decoder: Graph | None = None,
    encoder: Graph | None = None,
    decoder_start_token_id: int,
    eos_token_id: int,
    pad_token_id: int,
    no_repeat_ngram_size: int,
    model_type: int,
    vocab_size: int,
    temperature: float,
    top_p: float,
    filter_value: float,
    min_tokens_to_keep: int,
    presence_penalty: float,
    custom: int,
    context: RunContext,
) -> tuple[Array, Array]:
    """sequences continued by tokens drawn

    Returns the sequences, [batch, max_length] int32, and the scores from which the last tokens were drawn, [batch, vocabulary].

    input_ids: [batch, length].  Tokens are drawn from the likeliest ones, whose probabilities amount to `top_p`; the scores
    of the others are `filter_value`.
    """
    presence = None if presence_mask is None else presence_mask.astype(np.float32) * presence_penalty
    rules = ScoreRules.of(
        eos_token_id,
        min_length,
        repetition_penalty,
        vocab_mask,
        prefix_vocab_mask,
        no_repeat_ngram_size,
        temperature=temperature,
        presence=presence,
    )
    length = require_length(max_length, input_ids)
    require_gpt(model_type)
    state = context.random_state(None if seed is None else int(number(seed, 0)))
    filtered = np.zeros((len(input_ids), 0), np.float32)

    def draw(scores: Array) -> Array:
        nonlocal filtered
        is_ascending = not custom
        filtered = filter_unlikely(scores, top_p, filter_value, min_tokens_to_keep, is_ascending=is_ascending)
        return draw_tokens(filtered, state)

    call = subgraph_call(context)
    gpt = GptDecoder(call, decoder, init_decoder, input_ids, attention_mask, pad_token_id, 1, length)
    sequences = generate(gpt, rules, length, pad_token_id, vocab_size, context, draw)
    return sequences, filtered


def generate(
    decoder: GptDecoder,
    rules: ScoreRules,
    length: int,
    pad_token: int,
    vocabulary: int,
    context: RunContext,
    choose: Choose,
) -> Array:
    """The sequences, [batch, length], continued until all have ended or have this length."""
    rows, first = decoder.sequences.shape
    check_result_bytes(context, (rows, length), np.int32, "sequences")
    result = np.full((rows, length), pad_token, np.int32)
    result[:, :first] = decoder.sequences
    has_ended, scores = [False] * rows, decoder.begin()
    for size in range(first, length):
        context.check()
        scores = scores[:, : vocabulary if vocabulary > 0 else None]
        scores = rules.apply(scores, result[:, :size], is_first=size == first)
        tokens = choose(scores).astype(np.int32)
        has_ended = [old or x == rules.end_token for old, x in zip(has_ended, tokens.tolist(), strict=True)]
        if any(has_ended):
            tokens[has_ended] = pad_token
        result[:, size] = tokens
        if all(has_ended) or size + 1 == length:
            break
        scores = decoder.go_on(tokens, result[:, : size + 1], None)
    return result


def filter_unlikely(scores: Array, top_p: float, fill: float, least: int, *, is_ascending: bool) -> Array:
    """The scores, in which those of unlikely tokens are replaced by `fill`.

    is_ascending: whether tokens are visited from the least likely one on, and dropped as long as their probabilities amount
    to at most 1 - top_p, but at least `least` tokens are kept; else they are visited from the likeliest one on, and dropped
    once the tokens before them amount to more than top_p.
    """
    order = np.argsort(scores if is_ascending else -scores, axis=1, kind="stable")
    ordered = np.take_along_axis(scores, order, axis=1)
    shares = np.exp(ordered - ordered.max(axis=1, keepdims=True))
    sums = (shares / shares.sum(axis=1, keepdims=True)).cumsum(axis=1, dtype=np.float32)
    drop = np.zeros(scores.shape, bool)
    if is_ascending:
        count = scores.shape[1] - least
        drop[:, :count] = sums[:, :count] <= np.float32(1 - top_p)
        drop[:, 0] = sums[:, 0] <= np.float32(1 - top_p)
    else:
        drop[:, 1:] = sums[:, :-1] > np.float32(top_p)
    result = scores.copy()
    np.put_along_axis(result, order, np.where(drop, np.float32(fill), ordered), axis=1)
    return result


def draw_tokens(scores: Array, state: np.random.RandomState) -> Array:
    """A token drawn for each row, with the probabilities that its scores give."""
    sums = np.exp((scores - scores.max(axis=1, keepdims=True)).astype(np.float64)).cumsum(axis=1)
    drawn = state.random_sample(len(scores)) * sums[:, -1]
    # The first token whose sum exceeds the drawn number: with side="right", never one of probability 0.
    return np.array([np.searchsorted(row, x, side="right") for row, x in zip(sums, drawn, strict=True)])


# --- inputs and attributes -------------------------------------------------------------------


def require_length(max_length: Array, prompt: Array, start: int | None = None) -> int:
    """The maximum length; raises EvaluationError unless it exceeds the number of first tokens.

    start: the number of tokens with which generation begins; None if these are the prompt.
    """
    if prompt.ndim < 2:
        raise EvaluationError(f"the prompt must have rank 2 ([batch, length]); got rank {prompt.ndim}")
    length, first = int(number(max_length, 0)), prompt.shape[1] if start is None else start
    if not 0 < first < length <= MAX_LENGTH:
        raise EvaluationError(
            f"max_length must be above the {first} first tokens and at most {MAX_LENGTH}; got {length}"
        )
    return length


def require_gpt(model_type: int) -> None:
    if model_type != GPT:
        raise EvaluationError(f"model_type must be 0 (a GPT decoder); got {model_type}")


def subgraph_call(context: RunContext) -> Call:
    """A function that runs subgraphs whose results are tensors; each subgraph is bound to the run once."""
    bound: dict[Graph, Callable[[Sequence[Array]], Sequence[object]]] = {}

    def call(graph: Graph, inputs: Sequence[Array]) -> list[Array]:
        if graph not in bound:
            bound[graph] = bind_body(context, graph, len(inputs), len(graph.outputs))
        results = bound[graph](inputs)
        for value, result in zip(graph.outputs, results, strict=True):
            if not isinstance(result, np.ndarray):
                raise EvaluationError(f"output {value.name!r} of a decoder must be a tensor; got {result!r}")
        return [result for result in results if isinstance(result, np.ndarray)]

    return call
