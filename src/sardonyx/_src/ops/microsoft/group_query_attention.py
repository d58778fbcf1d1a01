"""GroupQueryAttention of com.microsoft: attention of grouped heads over a cache of keys and values.

Spec: com.microsoft GroupQueryAttention-1, as onnxruntime 1.32 computes it.  The cache of each batch entry has its own number of
tokens, which is `seqlens_k` + 1 with the new tokens.  A past cache may be a buffer with room for more tokens; the present
cache then has the same size.

With `query_seqlens`, the number of new tokens of each batch entry, the others are padding after them: their results are
unspecified, and so are the entries of a cache after its tokens.  The total is then only an upper bound.
"""

from __future__ import annotations

import math

from sardonyx._src.dtypes import DataType
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference
from sardonyx._src.ops.microsoft.attention_text import attention_text, merge_text, split_text
from sardonyx._src.ops.microsoft.group_query_caches import PAST, caches_text
from sardonyx._src.ops.microsoft.text import DOMAIN, number_attribute, results_text
from sardonyx._src.ops.nn.heads_text import matmul_text
from sardonyx._src.ops.support.body_text import SLICE_END, element_type, scalar, vector

INPUTS = (
    "query",
    "key",
    "value",
    "past_key",
    "past_value",
    "last_places",
    "total",
    "cos",
    "sin",
    "position_ids",
    "attention_bias",
    "sink",
    "k_scale",
    "v_scale",
    "q_norm",
    "k_norm",
    "query_seqlens",
)
POSITION_IDS, BIAS, SINK = INPUTS.index("position_ids"), INPUTS.index("attention_bias"), INPUTS.index("sink")
Q_NORM, K_NORM, NEW_COUNTS = INPUTS.index("q_norm"), INPUTS.index("k_norm"), INPUTS.index("query_seqlens")
op = Operator(
    "GroupQueryAttention",
    DOMAIN,
    tolerance="rounding",
    about="attention of grouped heads over a cache",
    counts=(INPUTS.index("total"),),
)
BEFORE_SOFTMAX, AFTER_SOFTMAX = 1, 2  # values of qk_output


@op.body(1, opset=24)
def body(inference: Inference) -> str:
    refuse(inference)
    outputs = results_text(inference, "y", "present_key", "present_value", "qk")
    return f"""({", ".join(INPUTS)}) => {outputs} {{
      {heads_text(inference)}
      {places_text(has_counts=inference.has(NEW_COUNTS))}
      {rotary_text(inference, cos=INPUTS.index("cos"), has_positions=inference.has(POSITION_IDS))}
      {caches_text(inference, reads_all=inference.has(NEW_COUNTS) and sees_prefixes(inference))}
      {prefix_text(inference) if sees_prefixes(inference) else masked_text(inference)}
      {merge_text("result", "y")}
    }}"""


def refuse(inference: Inference) -> None:
    """Raises InferenceError for what the body does not compute."""
    if inference.integer("sliding_window_cache") and (inference.has(BIAS) or inference.outputs > 3):
        inference.fail("a body is known for windowed caches without attention_bias and output_qk only")
    if inference.has(Q_NORM) != inference.has(K_NORM):
        inference.fail("q_norm_weight and k_norm_weight must be given together")
    if inference.has(NEW_COUNTS):
        has_past = all(inference.has(i) for i in PAST.values())
        if not (inference.integer("causal") and has_past):
            inference.fail("query_seqlens requires causal = 1, past_key and past_value")


def heads_text(inference: Inference) -> str:
    """The nodes of `unrotated_queries`, `unrotated_keys` and `new_values`: [batch, heads, new length, size]."""
    if not inference.has(Q_NORM):
        return split_heads_text(inference, "unrotated_queries", "unrotated_keys")
    return f"""{split_heads_text(inference, "plain_queries", "plain_keys")}
      unrotated_queries = RMSNormalization <{norm_text(inference, "q")}> (plain_queries, q_norm)
      unrotated_keys = RMSNormalization <{norm_text(inference, "k")}> (plain_keys, k_norm)"""


def norm_text(inference: Inference, side: str) -> str:
    """The attributes of the norm of queries or keys."""
    name = f"{side}_norm_epsilon"
    epsilon = number_attribute(inference, name, inference.number("qk_norm_epsilon"))
    if not 0 < epsilon < math.inf:
        inference.fail(f"{name} must be finite and positive; got {epsilon}")
    return f"axis = -1, epsilon = {epsilon!r}"


def split_heads_text(inference: Inference, queries: str, keys: str) -> str:
    """The nodes of queries and keys of these names, and of `new_values`."""
    many, few = inference.integer("num_heads"), inference.integer("kv_num_heads")
    if inference.has(1):
        pairs = (
            ("query", many, queries),
            ("key", few, keys),
            ("value", few, "new_values"),
        )
        return "".join(split_text(name, heads, result) for name, heads, result in pairs)
    return f"""{split_text("query", many + 2 * few, "packed")}
      counts = {vector([many, few, few])}
      {queries}, {keys}, new_values = Split <axis = 1> (packed, counts)"""


def places_text(*, has_counts: bool = False) -> str:
    """The nodes of `old`, [batch], the number of tokens in the cache, and `places`, [batch, new length], of the new tokens.

    has_counts: whether `query_seqlens` is given.
    """
    old = """
      tokens_before = Sub(tokens, new_size)
      is_prompt = Equal(all_tokens, new_size)
      old = Where(is_prompt, no_token, tokens_before)"""
    if has_counts:
        old = f"""
      new_counts = Cast <to = {int(DataType.INT64)}> (query_seqlens)
      new_vector = Reshape(new_counts, one_size)
      old = Sub(tokens, new_vector)"""
    return f"""
      one_size = {vector([-1])}
      no_token = {scalar(0, DataType.INT64)}
      one_token = {scalar(1, DataType.INT64)}
      wide_total = Cast <to = {int(DataType.INT64)}> (total)
      all_tokens = Reshape(wide_total, one_size)
      new_size = Shape <start = 1, end = 2> (query)
      new_count = Squeeze(new_size)
      last = Cast <to = {int(DataType.INT64)}> (last_places)
      last_vector = Reshape(last, one_size)
      tokens = Add(last_vector, one_token)
      {old.strip()}
      steps = Range(no_token, new_count, one_token)
      column = {vector([1])}
      old_column = Unsqueeze(old, column)
      places = Add(old_column, steps)"""


def rotary_text(inference: Inference, *, cos: int, has_positions: bool = False) -> str:
    """The nodes of `queries` and `new_keys`.

    cos: the position of the input of cosines; has_positions: whether position_ids are given.
    """
    if not inference.integer("do_rotary", 0):
        return "queries = Identity(unrotated_queries)  new_keys = Identity(unrotated_keys)"
    shape = inference.shape(cos)
    if shape is None or not isinstance(shape[1], int):
        inference.fail("the width of cos_cache must be known")
    attributes = (
        f"interleaved = {inference.integer('rotary_interleaved', 0)}, rotary_embedding_dim = {2 * shape[1]}"
    )
    if has_positions:
        positions = "rotary_places = Identity(position_ids)"
    else:
        positions = "most = Sub(all_tokens, one_token)  rotary_places = Min(places, most)"
    return f"""{positions}
      queries = RotaryEmbedding <{attributes}> (unrotated_queries, cos, sin, rotary_places)
      new_keys = RotaryEmbedding <{attributes}> (unrotated_keys, cos, sin, rotary_places)"""


def mask_text(inference: Inference) -> str:
    """The nodes of `score_bias`, [batch, 1 or heads, new length, keys]: -inf for keys that a token does not see."""
    window = inference.integer("local_window_size")
    nearest = f"""
      window = {scalar(window, DataType.INT64)}
      end_place = Sub(token_places, window)
      is_near = Greater(key_places, end_place)
      is_seen = And(is_past, is_near)"""
    limit = "token_places" if inference.integer("causal") else "last_seen"
    dtype = element_type(inference)
    return f"""
      key_size = Shape <start = 2, end = 3> (keys)
      key_count = Squeeze(key_size)
      key_entries = Range(no_token, key_count, one_token)
      key_places = Add(key_entries, first_place)
      head_and_key = {vector([1, 3])}
      token_places = Unsqueeze(places, head_and_key)
      inner = {vector([1, 2, 3])}
      last_seen = Unsqueeze(last_vector, inner)
      is_past = LessOrEqual(key_places, {limit})
      {nearest if window >= 0 else "is_seen = Identity(is_past)"}
      lowest = {scalar(float("-inf"), dtype)}
      zero = {scalar(0, dtype)}
      {bias_text(inference)}"""


def bias_text(inference: Inference) -> str:
    """The nodes of `score_bias`; an attention bias has a column for each token, and is padded to the size of a buffer."""
    if not inference.has(BIAS):
        return "score_bias = Where(is_seen, zero, lowest)"
    return f"""
      bias_size = Shape <start = 3> (attention_bias)
      bias_lack = Sub(key_size, bias_size)
      nothing = {vector([0])}
      most_lack = Max(bias_lack, nothing)
      bias_before = {vector([0] * 7)}
      bias_pads = Concat <axis = 0> (bias_before, most_lack)
      bias_of_keys = Pad(attention_bias, bias_pads)
      score_bias = Where(is_seen, bias_of_keys, lowest)"""


def has_own_softmax(inference: Inference) -> bool:
    """Whether the body computes the softmax itself, as Attention of ai.onnx has neither sinks nor the output `qk`."""
    return inference.has(SINK) or inference.integer("smooth_softmax") > 0 or inference.outputs > 3


def sees_prefixes(inference: Inference) -> bool:
    """Whether each token sees all tokens up to its own place and nothing else, and Attention of ai.onnx computes the softmax."""
    is_limited = inference.integer("local_window_size") >= 0 or inference.has(BIAS)
    return bool(inference.integer("causal")) and not is_limited and not has_own_softmax(inference)


def prefix_text(inference: Inference) -> str:
    """The nodes of `result` without a bias: Attention has a bound for each token, and does not read keys after it."""
    operands = ["queries", "keys", "values", "", "", "", "tokens_after"]
    call = attention_text(inference, operands, ["result"], f"is_causal = 1{softcap_text(inference)}")
    return f"tokens_after = Add(old, new_size)  {call}"


def masked_text(inference: Inference) -> str:
    """The nodes of `result`, and of `qk` if it is an output, with a bias that masks keys."""
    if has_own_softmax(inference):
        return mask_text(inference) + scores_text(inference)
    operands = ["queries", "keys", "values", "score_bias"]
    attributes = softcap_text(inference).removeprefix(", ")
    call = attention_text(inference, operands, ["result"], attributes)
    return mask_text(inference) + call


def softcap_text(inference: Inference) -> str:
    cap = number_attribute(inference, "softcap", 0.0)
    return f", softcap = {cap!r}" if cap else ""


def scores_text(inference: Inference) -> str:
    """The nodes of `result` and `qk`, without Attention of ai.onnx."""
    dtype = element_type(inference)
    scale = number_attribute(inference, "scale", 0.0)
    factor = (
        f"factor = {scalar(scale, dtype)}"
        if scale
        else f"""
      size = Shape <start = 3> (queries)
      real_size = Cast <to = {int(dtype)}> (size)
      root = Sqrt(real_size)
      factor = Reciprocal(root)"""
    )
    cap = number_attribute(inference, "softcap", 0.0)
    capped = f"""
      cap = {scalar(cap, dtype)}
      ratio = Div(scores, cap)
      bounded = Tanh(ratio)
      capped = Mul(cap, bounded)"""
    is_grouped = inference.integer("num_heads") != inference.integer("kv_num_heads")
    return f"""{factor}
      scaled_queries = Mul(queries, factor)
      columns = Transpose <perm = [0, 1, 3, 2]> (keys)
      {matmul_text("scaled_queries", "columns", "scores", is_grouped=is_grouped)}
      {capped if cap else "capped = Identity(scores)"}
      biased = Add(capped, score_bias)
      {shares_text(inference)}
      {matmul_text("shares", "values", "result", is_grouped=is_grouped)}
      {qk_text(inference)}"""


def shares_text(inference: Inference) -> str:
    """The nodes of `shares`, the softmax of the scores.

    A sink is an additional score of each head that belongs to no key; smooth_softmax has a sink of 0.
    """
    if not inference.has(SINK) and inference.integer("smooth_softmax") <= 0:
        return "shares = Softmax <axis = -1> (biased)"
    sinks = "sinks = Identity(zero)"
    if inference.has(SINK):
        sinks = f"sink_shape = {vector([1, -1, 1, 1])}  sinks = Reshape(sink, sink_shape)"
    return f"""{sinks}
      rows = Shape <end = 3> (biased)
      row_sizes = Concat <axis = 0> (rows, column)
      sink_column = Expand(sinks, row_sizes)
      with_sink = Concat <axis = 3> (sink_column, biased)
      all_shares = Softmax <axis = -1> (with_sink)
      end = {vector([SLICE_END])}
      key_axis = {vector([3])}
      shares = Slice(all_shares, column, end, key_axis)"""


def qk_text(inference: Inference) -> str:
    """The nodes of `qk`: the scores of the keys before or after the softmax, 0 for keys that are not seen."""
    if inference.outputs <= 3:
        return ""
    mode = inference.integer("qk_output")
    if mode not in (BEFORE_SOFTMAX, AFTER_SOFTMAX):
        inference.fail(f"qk_output must be {BEFORE_SOFTMAX} or {AFTER_SOFTMAX} for output 3; got {mode}")
    return "qk = Where(is_seen, biased, zero)" if mode == BEFORE_SOFTMAX else "qk = Identity(shares)"
