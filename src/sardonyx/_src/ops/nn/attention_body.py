"""The body of Attention: two matrix products and a softmax between them, with what the call at hand adds to them.

Scores are computed as float, or as double where Q is, and rounded where the specification says so.
"""

from __future__ import annotations

import math

from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.dims import Dim, dim_add, known_equal
from sardonyx._src.ops.body_text import element_type, rank_of, real, scalar, vector
from sardonyx._src.ops.inference import Inference
from sardonyx._src.ops.nn.heads_text import packed, product, softmax, unpacked

STAGES = ("scores", "capped", "biased", "weights")  # what qk_matmul_output_mode chooses from


def body(t: Inference) -> str:
    """The text of the function, whose nodes go by version 15 of the default domain."""
    dtype, wide = element_type(t), score_type(t)
    is_packed = rank_of(t) == 3
    outputs = ("y", "present_key", "present_value", "qk")[: t.outputs]
    mode = t.integer("qk_matmul_output_mode")
    if not 0 <= mode < len(STAGES):
        t.fail(f"qk_matmul_output_mode is {mode}; 0 to 3 are wanted")
    return f"""(q, k, v, mask, past_key, past_value, valid) => ({", ".join(outputs)}) {{
      {heads_first(t)}
      {presents(t)}
      {scores(t, wide)}
      {capped(t, wide)}
      {biased(t, wide)}
      {weights(t, dtype, wide)}
      values = Cast <to = {int(wide)}> (present_value)
      {product("weights", "values", "sums", is_grouped=is_grouped(t))}
      result = Cast <to = {int(dtype)}> (sums)
      {packed("result", "y") if is_packed else "y = Identity(result)"}
      {f"qk = Cast <to = {int(dtype)}> ({STAGES[mode]})" if "qk" in outputs else ""}
    }}"""


def score_type(t: Inference) -> DataType:
    return DataType.DOUBLE if element_type(t) is DataType.DOUBLE else DataType.FLOAT


def heads_first(t: Inference) -> str:
    """The nodes of `queries`, `keys` and `new_values`: [batch, heads, length, size]."""
    names = (
        ("q", "queries", "q_num_heads"),
        ("k", "keys", "kv_num_heads"),
        ("v", "new_values", "kv_num_heads"),
    )
    if rank_of(t) != 3:
        return "".join(f"{result} = Identity({name})  " for name, result, _ in names)
    return "".join(
        unpacked(name, [t.integer(heads)]) + f"  {result} = Transpose <perm = [0, 2, 1, 3]> ({name}_heads)"
        for name, result, heads in names
    )


def presents(t: Inference) -> str:
    if not t.has(4):
        return "present_key = Identity(keys)  present_value = Identity(new_values)"
    return """
      present_key = Concat <axis = 2> (past_key, keys)
      present_value = Concat <axis = 2> (past_value, new_values)"""


def is_grouped(t: Inference) -> bool:
    """Whether several query heads may share one of key and value."""
    q, k = heads(t, 0, "q_num_heads"), heads(t, 1, "kv_num_heads")
    return not known_equal(q, k)


def heads(t: Inference, i: int, attribute: str) -> Dim:
    shape = t.shape(i)
    if shape is None or len(shape) == 4:
        return None if shape is None else shape[1]
    return t.integer(attribute)


def scores(t: Inference, wide: DataType) -> str:
    """The nodes of `scores`, of which each factor has the root of the scale, so that they do not overflow on the way."""
    factors = f"""
      size = Shape <start = 3> (queries)
      real_size = Cast <to = {int(wide)}> (size)
      root_of_size = Sqrt(real_size)
      scale = Reciprocal(root_of_size)
      q_scale = Sqrt(scale)
      k_scale = Identity(q_scale)"""
    if "scale" in t.attributes:
        scale = real(t, "scale")
        root = math.sqrt(abs(scale))
        factors = f"q_scale = {scalar(root, wide)}  k_scale = {scalar(math.copysign(root, scale), wide)}"
    return f"""{factors}
      wide_queries = Cast <to = {int(wide)}> (queries)
      scaled_queries = Mul(wide_queries, q_scale)
      wide_keys = Cast <to = {int(wide)}> (present_key)
      scaled_keys = Mul(wide_keys, k_scale)
      columns = Transpose <perm = [0, 1, 3, 2]> (scaled_keys)
      {product("scaled_queries", "columns", "scores", is_grouped=is_grouped(t))}"""


def capped(t: Inference, wide: DataType) -> str:
    cap = real(t, "softcap")
    if not cap:
        return "capped = Identity(scores)"
    return f"""
      cap = {scalar(cap, wide)}
      part = Div(scores, cap)
      bounded = Tanh(part)
      capped = Mul(cap, bounded)"""


def weights(t: Inference, dtype: DataType, wide: DataType) -> str:
    """The nodes of `weights`: zeros where the bias lets a query look at no key, of which Softmax makes NaN."""
    nodes = "shares = Softmax <axis = -1> (biased)"
    if "softmax_precision" in t.attributes:
        precision = precision_of(t)
        nodes = softmax("biased", "precise_shares", precision)
        nodes += f"  rounded = Cast <to = {int(dtype)}> (precise_shares)  shares = Cast <to = {int(wide)}> (rounded)"
    if not has_bias(t):
        return f"{nodes}  weights = Identity(shares)"
    return f"""{nodes}
      most = ReduceMax <axes = [-1]> (bias)
      is_blind = Equal(most, lowest)
      weights = Where(is_blind, zero, shares)"""


def precision_of(t: Inference) -> DataType:
    number = t.integer("softmax_precision")
    if not 0 < number <= max(DataType):
        t.fail(f"softmax_precision is {number}, which is no element type")
    return DataType.numbered(number)


# --- the bias --------------------------------------------------------------------------------


def has_bias(t: Inference) -> bool:
    return t.has(3) or has_reach(t)


def has_reach(t: Inference) -> bool:
    """Whether places decide which keys a query may look at."""
    return bool(t.integer("is_causal")) or t.has(6) or has_window(t)


def has_window(t: Inference) -> bool:
    return max(window(t, "left"), window(t, "right")) >= 0


def window(t: Inference, side: str) -> int:
    return t.integer(f"{side}_window_size", -1)


def biased(t: Inference, wide: DataType) -> str:
    """The nodes of `biased`, and of `bias`, what the mask and the reach of the queries add to scores."""
    if not has_bias(t):
        return "biased = Identity(capped)"
    nodes = [f"lowest = {scalar(-math.inf, wide)}", f"zero = {scalar(0, wide)}"]
    if t.has(3):
        nodes.append(mask_text(t, wide))
    if has_reach(t):
        nodes += [reach_text(t), "reach_bias = Where(is_in_reach, zero, lowest)"]
    names = ["mask_bias"] * t.has(3) + ["reach_bias"] * has_reach(t)
    nodes.append("bias = Add(mask_bias, reach_bias)" if len(names) > 1 else f"bias = Identity({names[0]})")
    return "\n      ".join([*nodes, "biased = Add(capped, bias)"])


def mask_text(t: Inference, wide: DataType) -> str:
    """The nodes of `mask_bias`: the mask, or -inf where one of truth values is false.

    From version 24 on a mask of fewer keys than there are is -inf for the others.
    """
    is_bool = element_type(t, 3) is DataType.BOOL
    added = "added = Where(mask, zero, lowest)" if is_bool else f"added = Cast <to = {int(wide)}> (mask)"
    rank = rank_of(t, 3)
    if rank == 0:
        return f"{added}  front = {vector([0])}  mask_bias = Unsqueeze(added, front)"
    if t.version == 23 or masks_every_key(t):
        return f"{added}  mask_bias = Identity(added)"
    return f"""{added}
      all_keys = Shape <start = 2, end = 3> (present_key)
      masked_keys = Shape <start = -1> (mask)
      lack = Sub(all_keys, masked_keys)
      none_before = {vector([0] * (2 * rank - 1))}
      pads = Concat <axis = 0> (none_before, lack)
      mask_bias = Pad(added, pads, lowest)"""


def masks_every_key(t: Inference) -> bool:
    mask, k, past = t.shape(3), t.shape(1), t.shape(4)
    if not mask or k is None or len(k) not in (3, 4) or (t.has(4) and (past is None or len(past) != 4)):
        return False
    new = k[2] if len(k) == 4 else k[1]
    return bool(known_equal(mask[-1], dim_add(new, past[2] if past is not None else 0)))


def reach_text(t: Inference) -> str:
    """The nodes of `is_in_reach`: for [batch or 1, 1, queries, keys], whether the query may look at the key."""
    nodes, limits = [KEY_PLACES], []
    if t.has(6):
        nodes.append(f"inner = {vector([1, 2, 3])}  lengths = Unsqueeze(valid, inner)")
    if t.integer("is_causal") or has_window(t):
        nodes.append(PLACES.format(before_text(t)))
    if t.integer("is_causal"):
        limits.append("LessOrEqual(key_places, places)")
    if (left := window(t, "left")) >= 0:
        nodes.append(f"left = {scalar(left, DataType.INT64)}  nearest = Sub(places, left)")
        limits.append("GreaterOrEqual(key_places, nearest)")
    if (right := window(t, "right")) >= 0:
        nodes.append(f"right = {scalar(right, DataType.INT64)}  farthest = Add(places, right)")
        limits.append("LessOrEqual(key_places, farthest)")
    if t.has(6):
        limits.append("Less(key_places, lengths)")
    nodes += [f"holds_{i} = {limit}" for i, limit in enumerate(limits)]
    nodes.append("all_0 = Identity(holds_0)")
    nodes += [f"all_{i} = And(all_{i - 1}, holds_{i})" for i in range(1, len(limits))]
    return "\n      ".join([*nodes, f"is_in_reach = Identity(all_{len(limits) - 1})"])


KEY_PLACES = """
      none = Constant <value = int64 {0}> ()
      step = Constant <value = int64 {1}> ()
      key_length = Shape <start = 2, end = 3> (present_key)
      key_count = Squeeze(key_length)
      key_places = Range(none, key_count, step)"""
PLACES = """
      query_length = Shape <start = 2, end = 3> (queries)
      query_count = Squeeze(query_length)
      query_places = Range(none, query_count, step)
      column = Constant <value = int64[1] {{1}}> ()
      query_column = Unsqueeze(query_places, column)
      {}
      places = Add(query_column, before)"""


def before_text(t: Inference) -> str:
    """The nodes of `before`: how many keys are before the first query."""
    if t.has(6):
        return "before = Sub(lengths, query_count)"
    return "before = Shape <start = 2, end = 3> (past_key)" if t.has(4) else "before = Identity(none)"
