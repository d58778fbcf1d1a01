"""The function body of Attention, specialized for the inputs and attributes of one node.

Scores are computed as float, or as double if Q is double, and rounded where the specification says so.  The functions
named `*_text` return lines of the body in the textual syntax of ONNX; `wide` is the element type of the scores.
"""

from __future__ import annotations

import math

from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.dims import Dim, dim_add, known_equal
from sardonyx._src.ops.inference import Inference
from sardonyx._src.ops.nn.heads_text import matmul_text, merge_heads_text, softmax_text, split_heads_text
from sardonyx._src.ops.support.body_text import element_type, rank_of, scalar, vector

SCORE_STAGES = ("scores", "capped", "biased", "weights")  # indexed by qk_matmul_output_mode


FARTHEST = (
    1 << 62
)  # largest window size in the text: a position plus or minus this number does not overflow int64


def body(inference: Inference) -> str:
    """The text of the function, in opset 15 of the default domain."""
    dtype, wide = element_type(inference), score_type(inference)
    is_packed = rank_of(inference) == 3
    outputs = ("y", "present_key", "present_value", "qk")[: inference.outputs]
    mode = inference.integer("qk_matmul_output_mode")
    if not 0 <= mode < len(SCORE_STAGES):
        inference.fail(f"qk_matmul_output_mode must be 0, 1, 2 or 3; got {mode}")
    return f"""(q, k, v, mask, past_key, past_value, valid) => ({", ".join(outputs)}) {{
      {split_inputs_text(inference)}
      {present_text(inference)}
      {scores_text(inference, wide)}
      {softcap_text(inference, wide)}
      {bias_text(inference, wide)}
      {weights_text(inference, dtype, wide)}
      values = Cast <to = {int(wide)}> (present_value)
      {matmul_text("weights", "values", "sums", is_grouped=is_grouped(inference))}
      result = Cast <to = {int(dtype)}> (sums)
      {merge_heads_text("result", "y") if is_packed else "y = Identity(result)"}
      {f"qk = Cast <to = {int(dtype)}> ({SCORE_STAGES[mode]})" if "qk" in outputs else ""}
    }}"""


def score_type(inference: Inference) -> DataType:
    return DataType.DOUBLE if element_type(inference) is DataType.DOUBLE else DataType.FLOAT


def split_inputs_text(inference: Inference) -> str:
    """The nodes of `queries`, `keys` and `new_values`: [batch, heads, length, size]."""
    names = (
        ("q", "queries", "q_num_heads"),
        ("k", "keys", "kv_num_heads"),
        ("v", "new_values", "kv_num_heads"),
    )
    if rank_of(inference) != 3:
        return "".join(f"{result} = Identity({name})  " for name, result, _ in names)
    return "".join(
        split_heads_text(name, [inference.integer(heads)])
        + f"  {result} = Transpose <perm = [0, 2, 1, 3]> ({name}_heads)"
        for name, result, heads in names
    )


def present_text(inference: Inference) -> str:
    if not inference.has(4):
        return "present_key = Identity(keys)  present_value = Identity(new_values)"
    return """
      present_key = Concat <axis = 2> (past_key, keys)
      present_value = Concat <axis = 2> (past_value, new_values)"""


def is_grouped(inference: Inference) -> bool:
    """Whether several query heads may share one key/value head."""
    q, k = heads(inference, 0, "q_num_heads"), heads(inference, 1, "kv_num_heads")
    return not known_equal(q, k)


def heads(inference: Inference, i: int, attribute: str) -> Dim:
    """The number of heads of input i; `attribute` states it for inputs of rank 3."""
    shape = inference.shape(i)
    if shape is None or len(shape) == 4:
        return None if shape is None else shape[1]
    return inference.integer(attribute)


def scores_text(inference: Inference, wide: DataType) -> str:
    """The nodes of `scores`; queries and keys are each multiplied by the root of the scale to avoid overflow."""
    factors = f"""
      size = Shape <start = 3> (queries)
      real_size = Cast <to = {int(wide)}> (size)
      root_of_size = Sqrt(real_size)
      scale = Reciprocal(root_of_size)
      q_scale = Sqrt(scale)
      k_scale = Identity(q_scale)"""
    if "scale" in inference.attributes:
        scale = inference.number("scale")
        root = math.sqrt(abs(scale))
        factors = f"q_scale = {scalar(root, wide)}  k_scale = {scalar(math.copysign(root, scale), wide)}"
    return f"""{factors}
      wide_queries = Cast <to = {int(wide)}> (queries)
      scaled_queries = Mul(wide_queries, q_scale)
      wide_keys = Cast <to = {int(wide)}> (present_key)
      scaled_keys = Mul(wide_keys, k_scale)
      columns = Transpose <perm = [0, 1, 3, 2]> (scaled_keys)
      {matmul_text("scaled_queries", "columns", "scores", is_grouped=is_grouped(inference))}"""


def softcap_text(inference: Inference, wide: DataType) -> str:
    cap = inference.number("softcap")
    if not cap:
        return "capped = Identity(scores)"
    return f"""
      cap = {scalar(cap, wide)}
      part = Div(scores, cap)
      bounded = Tanh(part)
      capped = Mul(cap, bounded)"""


def weights_text(inference: Inference, dtype: DataType, wide: DataType) -> str:
    """The nodes of `weights`: zeros for a query without a visible key, for which Softmax would give NaN.

    The scores of such a query are replaced by zeros before the Softmax, too: otherwise its gradient would be NaN.
    """
    source = "visible" if has_bias(inference) else "biased"
    nodes = f"shares = Softmax <axis = -1> ({source})"
    if "softmax_precision" in inference.attributes:
        precision = precision_of(inference)
        nodes = softmax_text(source, "precise_shares", precision)
        nodes += f"  rounded = Cast <to = {int(dtype)}> (precise_shares)  shares = Cast <to = {int(wide)}> (rounded)"
    if not has_bias(inference):
        return f"{nodes}  weights = Identity(shares)"
    return f"""
      most = ReduceMax <axes = [-1]> (bias)
      is_blind = Equal(most, lowest)
      visible = Where(is_blind, zero, biased)
      {nodes}
      weights = Where(is_blind, zero, shares)"""


def precision_of(inference: Inference) -> DataType:
    number = inference.integer("softmax_precision")
    if not 0 < number <= max(DataType):
        inference.fail(f"softmax_precision must be an element type; got {number}")
    return DataType.from_number(number)


# --- the bias --------------------------------------------------------------------------------


def has_bias(inference: Inference) -> bool:
    return inference.has(3) or limits_keys(inference)


def limits_keys(inference: Inference) -> bool:
    """Whether causality, lengths or windows restrict the visible keys."""
    return bool(inference.integer("is_causal")) or inference.has(6) or has_window(inference)


def has_window(inference: Inference) -> bool:
    return max(window(inference, "left"), window(inference, "right")) >= 0


def window(inference: Inference, side: str) -> int:
    return min(inference.integer(f"{side}_window_size", -1), FARTHEST)


def bias_text(inference: Inference, wide: DataType) -> str:
    """The nodes of `biased`, the scores plus `bias`, and of `bias`: the mask, plus -inf for keys that are not visible."""
    if not has_bias(inference):
        return "biased = Identity(capped)"
    nodes = [f"lowest = {scalar(-math.inf, wide)}", f"zero = {scalar(0, wide)}"]
    if inference.has(3):
        nodes.append(mask_text(inference, wide))
    if limits_keys(inference):
        nodes += [visibility_text(inference), "reach_bias = Where(is_in_reach, zero, lowest)"]
    names = ["mask_bias"] * inference.has(3) + ["reach_bias"] * limits_keys(inference)
    nodes.append("bias = Add(mask_bias, reach_bias)" if len(names) > 1 else f"bias = Identity({names[0]})")
    return "\n      ".join([*nodes, "biased = Add(capped, bias)"])


def mask_text(inference: Inference, wide: DataType) -> str:
    """The nodes of `mask_bias`: the mask, or -inf where a bool mask is false.

    From version 24 on, keys past the end of a shorter mask get -inf.
    """
    is_bool = element_type(inference, 3) is DataType.BOOL
    added = "added = Where(mask, zero, lowest)" if is_bool else f"added = Cast <to = {int(wide)}> (mask)"
    rank = rank_of(inference, 3)
    if rank == 0:
        return f"{added}  front = {vector([0])}  mask_bias = Unsqueeze(added, front)"
    if inference.version == 23 or masks_every_key(inference):
        return f"{added}  mask_bias = Identity(added)"
    return f"""{added}
      all_keys = Shape <start = 2, end = 3> (present_key)
      masked_keys = Shape <start = -1> (mask)
      lack = Sub(all_keys, masked_keys)
      none_before = {vector([0] * (2 * rank - 1))}
      pads = Concat <axis = 0> (none_before, lack)
      mask_bias = Pad(added, pads, lowest)"""


def masks_every_key(inference: Inference) -> bool:
    """Whether the mask is known to have an entry for each key, past keys included."""
    mask, k, past = inference.shape(3), inference.shape(1), inference.shape(4)
    if (
        not mask
        or k is None
        or len(k) not in (3, 4)
        or (inference.has(4) and (past is None or len(past) != 4))
    ):
        return False
    new = k[2] if len(k) == 4 else k[1]
    return bool(known_equal(mask[-1], dim_add(new, past[2] if past is not None else 0)))


def visibility_text(inference: Inference) -> str:
    """The nodes of `is_in_reach`: [batch or 1, 1, queries, keys], whether the query may attend to the key."""
    nodes, limits = [KEY_POSITIONS_TEXT], []
    if inference.has(6):
        nodes.append(f"inner = {vector([1, 2, 3])}  lengths = Unsqueeze(valid, inner)")
    if inference.integer("is_causal") or has_window(inference):
        nodes.append(QUERY_POSITIONS_TEXT.format(before_text(inference)))
    if inference.integer("is_causal"):
        limits.append("LessOrEqual(key_places, places)")
    if (left := window(inference, "left")) >= 0:
        nodes.append(f"left = {scalar(left, DataType.INT64)}  nearest = Sub(places, left)")
        limits.append("GreaterOrEqual(key_places, nearest)")
    if (right := window(inference, "right")) >= 0:
        nodes.append(f"right = {scalar(right, DataType.INT64)}  farthest = Add(places, right)")
        limits.append("LessOrEqual(key_places, farthest)")
    if inference.has(6):
        limits.append("Less(key_places, lengths)")
    nodes += [f"holds_{i} = {limit}" for i, limit in enumerate(limits)]
    nodes.append("all_0 = Identity(holds_0)")
    nodes += [f"all_{i} = And(all_{i - 1}, holds_{i})" for i in range(1, len(limits))]
    return "\n      ".join([*nodes, f"is_in_reach = Identity(all_{len(limits) - 1})"])


# Its braces are literal; those of the next text are a template, where {} are the nodes of `before`.
KEY_POSITIONS_TEXT = """
      none = Constant <value = int64 {0}> ()
      step = Constant <value = int64 {1}> ()
      key_length = Shape <start = 2, end = 3> (present_key)
      key_count = Squeeze(key_length)
      key_places = Range(none, key_count, step)"""
QUERY_POSITIONS_TEXT = """
      query_length = Shape <start = 2, end = 3> (queries)
      query_count = Squeeze(query_length)
      query_places = Range(none, query_count, step)
      column = Constant <value = int64[1] {{1}}> ()
      query_column = Unsqueeze(query_places, column)
      {}
      places = Add(query_column, before)"""


def before_text(inference: Inference) -> str:
    """The nodes of `before`: the number of keys before the first query."""
    if inference.has(6):
        return "before = Sub(lengths, query_count)"
    return "before = Shape <start = 2, end = 3> (past_key)" if inference.has(4) else "before = Identity(none)"
