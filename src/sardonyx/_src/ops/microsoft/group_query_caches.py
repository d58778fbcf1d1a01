"""The caches of GroupQueryAttention: of all tokens or of a window of them, in floats or in codes of 8 or 4 bits.

A windowed cache of C entries and a window of W tokens begins at the position max(0, ceil((T - C) / G) * G) after T tokens, with
G = C - W + 1: as many entries leave at once.  Codes are x / scale, rounded to even and clamped; of 4 bits there are two in a byte,
the first one in the low half, and 8 is added to them.
"""

from __future__ import annotations

from sardonyx._src.dtypes import DataType
from sardonyx._src.ops.inference import Inference
from sardonyx._src.ops.microsoft.text import string_attribute
from sardonyx._src.ops.support.body_text import element_type, scalar, vector

PAST = {"key": 3, "value": 4}  # inputs
CODES = {8: DataType.INT8, 4: DataType.UINT8}  # the element types of caches by the bits of their codes
SCALINGS = ("PER_TENSOR", "PER_CHANNEL")  # scales of both broadcast to a cache


def caches_text(inference: Inference, *, reads_all: bool) -> str:
    """The nodes of the present caches, and of `keys` and `values`, [batch, heads, entries, size], of all that a run sees.

    They read `old` and `tokens`, the numbers of tokens of each batch entry before and after the run, `all_tokens` and `new_size`.
    `first_place` is the position of the first entry: [batch, 1, 1, 1] of windowed caches, else 0.
    reads_all: whether `keys` and `values` have all entries of the memory, since tokens of padding may be after `all_tokens`.
    """
    is_windowed = inference.integer("sliding_window_cache") == 1
    if is_windowed:
        check_window(inference)
    sides = [side_text(inference, name, is_windowed=is_windowed, reads_all=reads_all) for name in PAST]
    begin = WINDOW_TEXT.format(window=vector([inference.integer("local_window_size")])) if is_windowed else ""
    place = "window_places" if is_windowed else "no_token"
    return f"{begin}  first_place = Identity({place})  {SEEN_TEXT}  {' '.join(sides)}"


def check_window(inference: Inference) -> None:
    window = inference.integer("local_window_size")
    if window < 1 or not all(inference.has(i) for i in PAST.values()):
        inference.fail("a windowed cache requires local_window_size >= 1, past_key and past_value")
    for i in PAST.values():
        shape = inference.shape(i)
        size = shape[2] if shape is not None and len(shape) == 4 else None
        if isinstance(size, int) and size < window:
            inference.fail(f"a windowed cache must have at least {window} entries; got {size}")


def side_text(inference: Inference, name: str, *, is_windowed: bool, reads_all: bool) -> str:
    """The nodes of one present cache, and of `keys` or `values`."""
    bits, dtype = bits_of(inference, name), element_type(inference)
    stored = f"new_{name}s"
    nodes = ""
    if bits:
        nodes, stored = encode_text(name, bits), f"{name}_codes"
    nodes += cache_text(inference, name, stored, is_windowed=is_windowed)
    buffer = f"{name}_staged" if is_windowed else f"present_{name}"
    seen = f"Identity({buffer})" if reads_all else f"Slice({buffer}, begin, all_tokens, cache_axis)"
    nodes += f"  {name}_seen = {seen}"
    return nodes + (decode_text(name, bits, dtype) if bits else f"  {name}s = Identity({name}_seen)")


def bits_of(inference: Inference, name: str) -> int:
    """The bits of the codes of a cache; 0 for a cache of floats."""
    scaling = string_attribute(inference, f"{name[0]}_quant_type")
    if scaling == "NONE":
        return 0
    bits = inference.integer("kv_cache_bit_width", 0)
    if scaling not in SCALINGS or bits not in CODES or not inference.has(PAST[name]):
        inference.fail(
            f"a quantized cache must have {name[0]}_quant_type {' or '.join(SCALINGS)}, 8 or 4 bits, and a past; got {scaling} "
            f"and {bits} bits"
        )
    stored = element_type(inference, PAST[name])
    if stored is not CODES[bits]:
        inference.fail(f"a cache of {bits} bits must be of {CODES[bits].text}; got {stored.text}")
    return bits


# --- entries ---------------------------------------------------------------------------------

SEEN_TEXT = f"begin = {vector([0])}  cache_axis = {vector([2])}"

# `window_before`, `window_after`, [batch]: the positions of the first entries before and after the run.
# `moved`, [batch, 1, capacity, 1]: the entries of the staged cache that stay; of a cache smaller than the window none exists.
WINDOW_TEXT = """
      capacity = Shape <start = 2, end = 3> (past_key)
      window_size = {window}
      slack = Sub(capacity, window_size)
      entries_at_once = Add(slack, one_token)
      period = Max(entries_at_once, one_token)
      over_before = Sub(old, window_size)  rounded_before = Div(over_before, period)
      left_before = Mul(rounded_before, period)  window_before = Max(left_before, no_token)
      over_after = Sub(tokens, window_size)  rounded_after = Div(over_after, period)
      left_after = Mul(rounded_after, period)  window_after = Max(left_after, no_token)
      free_entry = Sub(old, window_before)
      shift = Sub(window_after, window_before)
      shift_column = Unsqueeze(shift, column)
      capacity_count = Squeeze(capacity)
      kept_entries = Range(no_token, capacity_count, one_token)
      moved_entries = Add(kept_entries, shift_column)
      staged_size = Add(capacity, new_size)
      last_entry = Sub(staged_size, one_token)
      inner_entries = Min(moved_entries, last_entry)
      is_narrow = Less(slack, no_token)
      checked_entries = Where(is_narrow, staged_size, inner_entries)
      head_and_size = Constant <value = int64[2] {{1, 3}}> ()
      moved = Unsqueeze(checked_entries, head_and_size)
      window_axes = Constant <value = int64[3] {{1, 2, 3}}> ()
      window_places = Unsqueeze(window_before, window_axes)"""


def cache_text(inference: Inference, name: str, new: str, *, is_windowed: bool = False) -> str:
    """The nodes of `present_{name}`: the past cache, padded to the number of all tokens, with the new entries."""
    if not inference.has(PAST[name]):
        return f"  present_{name} = Identity({new})"
    if is_windowed:
        return f"""
      {padded_text(name, "new_size")}
      {name}_staged = TensorScatter <axis = 2> ({name}_buffer, {new}, free_entry)
      {name}_shape = Shape(past_{name})
      {name}_moved = Expand(moved, {name}_shape)
      present_{name} = GatherElements <axis = 2> ({name}_staged, {name}_moved)"""
    return f"""
      {name}_room = Shape <start = 2, end = 3> (past_{name})
      {name}_space = Max({name}_room, all_tokens)
      {name}_lack = Sub({name}_space, {name}_room)
      {padded_text(name, f"{name}_lack")}
      present_{name} = TensorScatter <axis = 2> ({name}_buffer, {new}, old)"""


def padded_text(name: str, count: str) -> str:
    """The nodes of `{name}_buffer`: the past cache with more entries."""
    return f"""{name}_before = {vector([0] * 6)}
      {name}_after = {vector([0])}
      {name}_pads = Concat <axis = 0> ({name}_before, {count}, {name}_after)
      {name}_buffer = Pad(past_{name}, {name}_pads)"""


# --- codes -----------------------------------------------------------------------------------


def encode_text(name: str, bits: int) -> str:
    """The nodes of `{name}_codes`, those of the new entries."""
    least, most = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
    nodes = f"""
      {name}_floats = Cast <to = {int(DataType.FLOAT)}> (new_{name}s)
      {name}_scaled = Div({name}_floats, {name[0]}_scale)
      {name}_rounded = Round({name}_scaled)
      {name}_least = {scalar(least, DataType.FLOAT)}
      {name}_most = {scalar(most, DataType.FLOAT)}
      {name}_clamped = Clip({name}_rounded, {name}_least, {name}_most)"""
    if bits == 4:
        nodes += f"""
      {name}_raised = Sub({name}_clamped, {name}_least)
      {name}_pair_shape = {vector([0, 0, 0, -1, 2])}
      {name}_pairs = Reshape({name}_raised, {name}_pair_shape)
      {name}_weights = Constant <value = float[2] {{1, 16}}> ()
      {name}_weighted = Mul({name}_pairs, {name}_weights)
      {name}_pair_axis = {vector([-1])}
      {name}_bytes = ReduceSum <keepdims = 0> ({name}_weighted, {name}_pair_axis)"""
    return f"{nodes}  {name}_codes = Cast <to = {int(CODES[bits])}> ({name}_{'bytes' if bits == 4 else 'clamped'})"


def decode_text(name: str, bits: int, dtype: DataType) -> str:
    """The nodes of `keys` or `values`, of the codes in `{name}_seen`."""
    codes = f"{name}_numbers"
    nodes = f"  {codes} = Cast <to = {int(DataType.FLOAT)}> ({name}_seen)"
    if bits == 4:
        nodes += f"""
      {name}_sixteen = {scalar(16, DataType.FLOAT)}  {name}_eight = {scalar(8, DataType.FLOAT)}
      {name}_quotients = Div({codes}, {name}_sixteen)
      {name}_high = Floor({name}_quotients)
      {name}_high_part = Mul({name}_high, {name}_sixteen)
      {name}_low = Sub({codes}, {name}_high_part)
      {name}_last = {vector([-1])}
      {name}_low_column = Unsqueeze({name}_low, {name}_last)
      {name}_high_column = Unsqueeze({name}_high, {name}_last)
      {name}_halves = Concat <axis = -1> ({name}_low_column, {name}_high_column)
      {name}_row_shape = {vector([0, 0, 0, -1])}
      {name}_both = Reshape({name}_halves, {name}_row_shape)
      {name}_signed = Sub({name}_both, {name}_eight)"""
        codes = f"{name}_signed"
    return f"""{nodes}
      {name}_unscaled = Mul({codes}, {name[0]}_scale)
      {name}s = Cast <to = {int(dtype)}> ({name}_unscaled)"""
