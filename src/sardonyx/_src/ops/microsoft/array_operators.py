"""Operators of com.microsoft on distances, windows and crops.

Spec: com.microsoft CDist-1 ConvTransposeWithDynamicPads-1 CropAndResize-1 NGramRepeatBlock-1 UnfoldTensor-1
WordConvEmbedding-1, as onnxruntime computes them.
"""

from __future__ import annotations

import math

from sardonyx._src.dtypes import DataType
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference
from sardonyx._src.ops.microsoft.text import DOMAIN, string_attribute
from sardonyx._src.ops.support.body_text import element_type, rank_of, scalar, vector

cdist = Operator("CDist", DOMAIN, tolerance="rounding", about="distances between the rows of two matrices")
conv_transpose = Operator(
    "ConvTransposeWithDynamicPads", DOMAIN, tolerance="rounding", about="ConvTranspose with pads as an input"
)
crop = Operator("CropAndResize", DOMAIN, tolerance="rounding", about="crops of images, resized to one size")
no_repeats = Operator("NGramRepeatBlock", DOMAIN, about="scores without tokens that would repeat an n-gram")
unfold = Operator("UnfoldTensor", DOMAIN, about="sliding windows of an axis, along a new last axis")
word_conv = Operator(
    "WordConvEmbedding", DOMAIN, tolerance="rounding", about="embeddings of words by their characters"
)


@cdist.body(1, opset=13)
def cdist_body(inference: Inference) -> str:
    """a: [m, n]; b: [k, n]; result: [m, k].

    The square distances are computed from norms and products; Max removes negative ones, which rounding may give.
    """
    metric = string_attribute(inference, "metric")
    if metric not in ("sqeuclidean", "euclidean"):
        inference.fail(f"a body is known for the metrics euclidean and sqeuclidean only; got {metric!r}")
    dtype = element_type(inference)
    return f"""(a, b) => (y) {{
      row_axis = {vector([1])}
      a_square = Mul(a, a)
      a_norms = ReduceSum(a_square, row_axis)
      b_square = Mul(b, b)
      b_norms = ReduceSum(b_square, row_axis)
      b_row = Transpose <perm = [1, 0]> (b_norms)
      columns = Transpose <perm = [1, 0]> (b)
      two = {scalar(2, dtype)}
      doubled = Mul(columns, two)
      product = MatMul(a, doubled)
      shifted = Sub(b_row, product)
      difference = Add(shifted, a_norms)
      none = {scalar(0, dtype)}
      squares = Max(difference, none)
      y = {"Sqrt" if metric == "euclidean" else "Identity"}(squares)
    }}"""


@conv_transpose.body(1, opset=11)
def conv_transpose_body(inference: Inference) -> str:
    """A ConvTranspose without pads, whose result is then cropped by the pads."""
    if string_attribute(inference, "auto_pad") != "NOTSET":
        inference.fail("a body is known without auto_pad only")
    names = ("dilations", "group", "kernel_shape", "output_padding", "strides")
    attributes = ", ".join(f"{name} = @{name}" for name in names)
    axes = rank_of(inference) - 2
    bias = ", b" if inference.has(3) else ""
    if not inference.has(2):
        return f"(x, w, pads, b) => (y) {{ y = ConvTranspose <{attributes}> (x, w{bias}) }}"
    return f"""(x, w, pads, b) => (y) {{
      whole = ConvTranspose <{attributes}> (x, w{bias})
      shape = Shape(whole)
      first = {vector([2])}
      end_place = {vector([2 + axes])}
      sizes = Slice(shape, first, end_place)
      none = {vector([0])}
      half = {vector([axes])}
      both = {vector([2 * axes])}
      starts = Slice(pads, none, half)
      cut = Slice(pads, half, both)
      ends = Sub(sizes, cut)
      axes = {vector(list(range(2, 2 + axes)))}
      y = Slice(whole, starts, ends, axes)
    }}"""


@unfold.body(1, opset=13)
def unfold_body(inference: Inference) -> str:
    """x: [..., n, ...]; result: [..., windows, ..., size]."""
    rank = rank_of(inference)
    axis = inference.axis(inference.integer("dim"), rank)
    size, step = inference.integer("size"), inference.integer("step")
    order = [i if i <= axis else i + 1 for i in range(rank)] + [axis + 1]
    return f"""(x) => (y) {{
      shape = Shape(x)
      place = {scalar(axis, DataType.INT64)}
      length = Gather(shape, place)
      size = {scalar(size, DataType.INT64)}
      step = {scalar(step, DataType.INT64)}
      room = Sub(length, size)
      none = {scalar(0, DataType.INT64)}
      one = {scalar(1, DataType.INT64)}
      end_place = Add(room, one)
      starts = Range(none, end_place, step)
      column = {vector([1])}
      start_column = Unsqueeze(starts, column)
      offsets = {vector(list(range(size)))}
      places = Add(start_column, offsets)
      windows = Gather <axis = {axis}> (x, places)
      y = Transpose <perm = {order}> (windows)
    }}"""


@no_repeats.body(1, opset=18)
def no_repeats_body(inference: Inference) -> str:
    """ids: [batch, length]; scores: [batch, words].

    A word gets the score -inf if it follows an earlier occurrence of the last ngram_size - 1 words.
    """
    size = inference.integer("ngram_size")
    if size < 2:
        inference.fail(f"a body is known for n-grams of 2 or more only; got {size}")
    dtype = element_type(inference, 1)
    return f"""(ids, scores) => (y) {{
      length = Shape <start = 1, end = 2> (ids)
      count = Squeeze(length)
      before = {scalar(size - 1, DataType.INT64)}
      room = Sub(count, before)
      none = {scalar(0, DataType.INT64)}
      one = {scalar(1, DataType.INT64)}
      windows = Max(room, none)
      starts = Range(none, windows, one)
      column = {vector([1])}
      start_column = Unsqueeze(starts, column)
      offsets = {vector(list(range(size - 1)))}
      places = Add(start_column, offsets)
      prefixes = Gather <axis = 1> (ids, places)
      tail = {vector([-(size - 1)])}
      last = Slice(ids, tail, length, column)
      last_row = Unsqueeze(last, column)
      equal = Equal(prefixes, last_row)
      numbers = Cast <to = {int(DataType.INT32)}> (equal)
      word_axis = {vector([2])}
      least = ReduceMin <keepdims = 0> (numbers, word_axis)
      is_repeat = Cast <to = {int(DataType.BOOL)}> (least)
      next_places = Add(starts, before)
      next = Gather <axis = 1> (ids, next_places)
      lowest = {scalar(-math.inf, dtype)}
      highest = {scalar(math.inf, dtype)}
      limits = Where(is_repeat, lowest, highest)
      y = ScatterElements <axis = 1, reduction = "min"> (scores, next, limits)
    }}"""


@crop.body(1, opset=16)
def crop_body(inference: Inference) -> str:
    """x: [n, c, h, w]; rois: [r, 4] with y1, x1, y2, x2 in 0 to 1; result: [r, c, height, width]."""
    mode = string_attribute(inference, "mode").lower()
    if mode not in ("bilinear", "nearest"):
        inference.fail(f"mode must be bilinear or nearest; got {mode!r}")
    dtype = element_type(inference)
    value = scalar(inference.number("extrapolation_value"), dtype)
    return f"""(x, rois, images, size) => (y) {{
      none = {scalar(0, DataType.INT64)}
      one = {scalar(1, DataType.INT64)}
      zero = {scalar(0, dtype)}
      unit = {scalar(1, dtype)}
      two = {scalar(2, dtype)}
      half = {scalar(0.5, dtype)}
      column = {vector([1])}
      row = {vector([2])}
      wide_size = Cast <to = {int(DataType.INT64)}> (size)
      y1, x1, y2, x2 = Split <axis = 1> (rois)
      {positions_text(0, "y", dtype)}
      {positions_text(1, "x", dtype)}
      picked = Gather(x, images)
      columns_of = Unsqueeze(y_places, row)
      rows_of = Unsqueeze(x_places, column)
      zeros_y = Mul(rows_of, zero)
      zeros_x = Mul(columns_of, zero)
      all_y = Add(columns_of, zeros_y)
      all_x = Add(rows_of, zeros_x)
      last = {vector([-1])}
      grid_y = Unsqueeze(all_y, last)
      grid_x = Unsqueeze(all_x, last)
      places = Concat <axis = -1> (grid_x, grid_y)
      doubled = Mul(places, two)
      grid = Sub(doubled, unit)
      sampled = GridSample <align_corners = 1, mode = "{mode}", padding_mode = "border"> (picked, grid)
      above = Max(all_y, all_x)
      below = Min(all_y, all_x)
      is_low = Less(below, zero)
      is_high = Greater(above, unit)
      is_outside = Or(is_low, is_high)
      is_outside_image = Unsqueeze(is_outside, column)
      value = {value}
      y = Where(is_outside_image, value, sampled)
    }}"""


def positions_text(i: int, axis: str, dtype: DataType) -> str:
    """The nodes of `{axis}_places`, [r, size]: the positions of the crops' pixels along an axis, from 0 to 1."""
    return f"""
      {axis}_index = {scalar(i, DataType.INT64)}
      {axis}_size = Gather(wide_size, {axis}_index)
      {axis}_steps = Range(none, {axis}_size, one)
      {axis}_gaps = Sub({axis}_size, one)
      {axis}_parts = Max({axis}_gaps, one)
      {axis}_real_steps = Cast <to = {int(dtype)}> ({axis}_steps)
      {axis}_real_parts = Cast <to = {int(dtype)}> ({axis}_parts)
      {axis}_shares = Div({axis}_real_steps, {axis}_real_parts)
      {axis}_is_single = Equal({axis}_size, one)
      {axis}_fractions = Where({axis}_is_single, half, {axis}_shares)
      {axis}_extent = Sub({axis}2, {axis}1)
      {axis}_offsets = Mul({axis}_extent, {axis}_fractions)
      {axis}_places = Add({axis}1, {axis}_offsets)"""


@word_conv.body(1, opset=15)
def word_conv_body(inference: Inference) -> str:
    """words: [words, characters], padded with 0; w: [filters, 1, window, size]; table: [characters, size].

    result: [words, filters], the maximum over the windows of each word, of which there is at least one.
    """
    kernel = inference.shape(1)
    if kernel is None or not isinstance(kernel[2], int):
        inference.fail("the window of the weights must be known")
    return f"""(words, w, b, table) => (y) {{
      characters = Gather(table, words)
      channel = {vector([1])}
      images = Unsqueeze(characters, channel)
      products = Conv(images, w, b)
      last = {vector([3])}
      windows = Squeeze(products, last)
      active = Tanh(windows)
      nothing = {scalar(0, element_type(inference))}
      is_character = Greater(words, nothing)
      numbers = Cast <to = {int(DataType.INT64)}> (is_character)
      lengths = ReduceSum(numbers, channel)
      all_but_one = {scalar(kernel[2] - 1, DataType.INT64)}
      counts = Sub(lengths, all_but_one)
      one = {scalar(1, DataType.INT64)}
      at_least_one = Max(counts, one)
      inner = {vector([1])}
      limits = Unsqueeze(at_least_one, inner)
      none = {scalar(0, DataType.INT64)}
      window_shape = Shape <start = 2, end = 3> (windows)
      window_count = Squeeze(window_shape)
      places = Range(none, window_count, one)
      is_inside = Less(places, limits)
      lowest = {scalar(-math.inf, DataType.FLOAT)}
      inner_scores = Where(is_inside, active, lowest)
      y = ReduceMax <axes = [2], keepdims = 0> (inner_scores)
    }}"""
