"""Products and look-ups of com.microsoft with weights packed into fewer than eight bits.

Spec: com.microsoft GatherBlockQuantized-1 MatMulBnb4-1 MatMulNBits-1, as onnxruntime computes them.
"""

from __future__ import annotations

from sardonyx._src.dtypes import DataType
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference
from sardonyx._src.ops.microsoft.text import DOMAIN
from sardonyx._src.ops.support.body_text import element_type, rank_of, scalar, vector

matmul = Operator(
    "MatMulNBits", DOMAIN, tolerance="rounding", about="MatMul by weights of 2, 4 or 8 bits with block scales"
)
bnb4 = Operator(
    "MatMulBnb4", DOMAIN, tolerance="rounding", about="MatMul by weights of 4-bit floats (FP4 or NF4)"
)
gather = Operator(
    "GatherBlockQuantized", DOMAIN, tolerance="rounding", about="Gather of rows quantized in blocks"
)
FP4_MAGNITUDES = (0.0, 0.005208333, 0.6666667, 1.0, 0.33333334, 0.5, 0.16666667, 0.25)
NF4_BELOW_ZERO = (-1.0, -0.6961928, -0.52507305, -0.3949175, -0.28444138, -0.18477343, -0.091050036)
NF4_FROM_ZERO = (0.0, 0.0795803, 0.1609302, 0.2461123, 0.33791524, 0.44070983, 0.562617, 0.72295684, 1.0)
# For each quant_type (FP4, NF4), the values of the 16 codes.
CODEBOOKS = ((*FP4_MAGNITUDES, *(-x for x in FP4_MAGNITUDES)), (*NF4_BELOW_ZERO, *NF4_FROM_ZERO))


def unpack_text(name: str, result: str, bits: int, shape: list[int]) -> str:
    """The nodes of `result`, uint8 of this shape: the codes in the bytes of `name`; the low bits of a byte come first."""
    if bits == 8:
        return f"{result}_shape = {vector(shape)}  {result} = Reshape({name}, {result}_shape)"
    count = 8 // bits
    nodes = [f"{result}_mask = {scalar((1 << bits) - 1, DataType.UINT8)}  {result}_last = {vector([-1])}"]
    for i in range(count):
        nodes.append(f"""
      {result}_by_{i} = {scalar(i * bits, DataType.UINT8)}
      {result}_shifted_{i} = BitShift <direction = "RIGHT"> ({name}, {result}_by_{i})
      {result}_code_{i} = BitwiseAnd({result}_shifted_{i}, {result}_mask)
      {result}_column_{i} = Unsqueeze({result}_code_{i}, {result}_last)""")
    columns = ", ".join(f"{result}_column_{i}" for i in range(count))
    nodes.append(f"{result}_codes = Concat <axis = -1> ({columns})")
    nodes.append(f"{result}_shape = {vector(shape)}  {result} = Reshape({result}_codes, {result}_shape)")
    return " ".join(nodes)


def cut_text(name: str, result: str, axis: int, size: int) -> str:
    """The nodes of `result`: the first `size` entries of `name` along an axis."""
    return f"""
      {result}_start = {vector([0])}
      {result}_end = {vector([size])}
      {result}_axis = {vector([axis])}
      {result} = Slice({name}, {result}_start, {result}_end, {result}_axis)"""


@matmul.body(1, opset=21)
def matmul_body(inference: Inference) -> str:
    """a: [..., K]; b: [N, blocks, bytes]; scales: [N, blocks] or [N * blocks]; result: [..., N]."""
    if inference.integer("weight_prepacked", 0):
        inference.fail("a body is known without prepacked weights only")
    rows, inner = inference.integer("N"), inference.integer("K")
    size, bits = inference.integer("block_size"), inference.integer("bits")
    if bits not in (2, 4, 8):
        inference.fail(f"bits must be 2, 4 or 8; got {bits}")
    blocks = -(-inner // size)
    cut = (
        cut_text("all_codes", "codes", 1, inner) if blocks * size != inner else "codes = Identity(all_codes)"
    )
    return f"""(a, b, scales, zeros, group, bias) => (y) {{
      {unpack_text("b", "all_codes", bits, [rows, blocks * size])}
      {cut}
      scale_shape = {vector([rows, blocks])}
      block_scales = Reshape(scales, scale_shape)
      {columns_text(inference, rows, blocks)}
      {"product = MatMul(a, columns)  y = Add(product, bias)" if inference.has(5) else "y = MatMul(a, columns)"}
    }}"""


def columns_text(inference: Inference, rows: int, blocks: int) -> str:
    """The nodes of `columns`, [K, N], from `codes`, `block_scales` and the zero points.

    The codes are transposed, not the weights, so that an engine that evaluates DequantizeLinear once has the operand itself.
    """
    size, bits = inference.integer("block_size"), inference.integer("bits")
    dtype = element_type(inference)
    zeros = zeros_text(inference, rows, blocks, bits)
    is_exact = not inference.has(3) or element_type(inference, 3) is DataType.UINT8
    if is_exact and not inference.has(4):
        transposed = "  ".join(
            f"{name}_columns = Transpose <perm = [1, 0]> ({name})"
            for name in ("codes", "block_scales", "block_zeros")
        )
        operands = "codes_columns, block_scales_columns, block_zeros_columns"
        return f"""{zeros} {transposed}
      columns = DequantizeLinear <axis = 0, block_size = {size}> ({operands}) {accuracy_text(inference)}"""
    real = (
        f"real_codes = Cast <to = {int(dtype)}> (codes)  real_zeros = Cast <to = {int(dtype)}> (block_zeros)"
    )
    if inference.has(4):
        of_column = "scale_of = Gather <axis = 1> (block_scales, group)  zero_of = Gather <axis = 1> (real_zeros, group)"
    else:
        of_column = repeat_text("block_scales", "scale_of", size, inference.integer("K"))
        of_column += repeat_text("real_zeros", "zero_of", size, inference.integer("K"))
    return f"{zeros} {real} {of_column} centered = Sub(real_codes, zero_of)  weights = Mul(centered, scale_of)  columns = Transpose <perm = [1, 0]> (weights)"


def accuracy_text(inference: Inference) -> str:
    """The accuracy level, as metadata of the node.

    It permits to compute less accurately; operators of ai.onnx have no attribute for that.
    """
    level = inference.integer("accuracy_level", 0)
    return f'@{{metadata_props: ["{DOMAIN}.accuracy_level": "{level}"]}}' if level else ""


def repeat_text(name: str, result: str, size: int, width: int) -> str:
    """The nodes of `result`, [N, width]: each entry of `name`, [N, blocks], is repeated `size` times."""
    blocks = [column // size for column in range(width)]
    return f"  {result}_places = {vector(blocks)}  {result} = Gather <axis = 1> ({name}, {result}_places)"


def zeros_text(inference: Inference, rows: int, blocks: int, bits: int) -> str:
    """The nodes of `block_zeros`, [N, blocks]; if they are packed, each row is padded to whole bytes."""
    shape = [rows, blocks]
    if not inference.has(3):
        return f"""
      middle = {scalar(1 << (bits - 1), DataType.UINT8)}
      block_zeros = Expand(middle, scale_shape)"""
    if element_type(inference, 3) is not DataType.UINT8:
        return "block_zeros = Reshape(zeros, scale_shape)"
    per_byte = 8 // bits
    width = -(-blocks // per_byte)
    unpacked = unpack_text("zero_rows", "all_zeros", bits, [rows, width * per_byte])
    cut = cut_text("all_zeros", "block_zeros", 1, blocks)
    packed = f"packed_shape = {vector([rows, width])}  zero_rows = Reshape(zeros, packed_shape)"
    return (
        f"{packed} {unpacked} {cut if width * per_byte != shape[1] else 'block_zeros = Identity(all_zeros)'}"
    )


@bnb4.body(1, opset=18)
def bnb4_body(inference: Inference) -> str:
    """a: [..., K], or [..., N] if transB is 0; b: N * K codes of 4 bits; absmax: a scale for each block of codes.

    Unlike elsewhere in this file, the high bits of a byte come first.
    """
    rows, inner = inference.integer("N"), inference.integer("K")
    size, kind = inference.integer("block_size"), inference.integer("quant_type")
    if kind not in (0, 1):
        inference.fail(f"quant_type must be 0 or 1; got {kind}")
    dtype, count = element_type(inference), rows * inner
    values = ", ".join(map(repr, CODEBOOKS[kind]))
    blocks = -(-count // size)
    order = (
        "columns = Transpose <perm = [1, 0]> (weights)"
        if inference.integer("transB")
        else "columns = Identity(weights)"
    )
    return f"""(a, b, absmax) => (y) {{
      {unpack_text("b", "pairs", 4, [-1, 2])}
      high_first = {vector([1, 0])}
      turned = Gather <axis = 1> (pairs, high_first)
      flat = {vector([-1])}
      all_codes = Reshape(turned, flat)
      {cut_text("all_codes", "codes", 0, count)}
      book = Constant <value = float[16] {{{values}}}> ()
      typed_book = Cast <to = {int(dtype)}> (book)
      places = Cast <to = {int(DataType.INT64)}> (codes)
      shares = Gather(typed_book, places)
      scale_shape = {vector([blocks, 1])}
      scale_column = Reshape(absmax, scale_shape)
      block_shape = {vector([blocks, size])}
      scale_rows = Expand(scale_column, block_shape)
      all_scales = Reshape(scale_rows, flat)
      {cut_text("all_scales", "scales", 0, count)}
      values = Mul(shares, scales)
      matrix_shape = {vector([rows, inner])}
      weights = Reshape(values, matrix_shape)
      {order}
      y = MatMul(a, columns)
    }}"""


@gather.body(1, opset=21)
def gather_body(inference: Inference) -> str:
    """data: codes, in bytes packed along the last axis; scales: one for each block along the quantized axis."""
    dtype, rank = element_type(inference), rank_of(inference)
    gathered = inference.axis(inference.integer("gather_axis"), rank)
    quantized = inference.axis(inference.integer("quantize_axis"), rank)
    if dtype not in (DataType.INT4, DataType.UINT4, DataType.UINT8):
        inference.fail(f"a body is known for integer data only; got {dtype.text}")
    if gathered == quantized:
        inference.fail("a body is known where the gathered axis is not the quantized one only")
    axis = quantized + (rank_of(inference, 1) - 1 if quantized > gathered else 0)
    size = inference.integer("block_size")
    return f"""(data, indices, scales, zeros) => (y) {{
      {codes_text(inference, dtype, rank, gathered)}
      taken_scales = Gather <axis = {gathered}> (scales, indices)
      y = DequantizeLinear <axis = {axis}, block_size = {size}> (codes, taken_scales, taken_zeros)
    }}"""


def codes_text(inference: Inference, dtype: DataType, rank: int, axis: int) -> str:
    """The nodes of `codes` and `taken_zeros`: the gathered codes and their zero points, as uint8 or int8."""
    if dtype is not DataType.UINT8:
        wide = DataType.INT8 if dtype is DataType.INT4 else DataType.UINT8
        nodes = f"wide = Cast <to = {int(wide)}> (data)  codes = Gather <axis = {axis}> (wide, indices)"
        if inference.has(3):
            return f"{nodes} wide_zeros = Cast <to = {int(wide)}> (zeros)  taken_zeros = Gather <axis = {axis}> (wide_zeros, indices)"
        return f"{nodes} {default_zeros_text(0, wide, axis)}"
    bits = inference.integer("bits")
    rows = f"rows = Gather <axis = {axis}> (data, indices)"
    nodes = f"{rows} {unpack_rows_text('rows', 'codes', bits)}"
    if not inference.has(3):
        return f"{nodes} {default_zeros_text(1 << (bits - 1), DataType.UINT8, axis)}"
    return f"""{nodes}
      zero_rows = Gather <axis = {axis}> (zeros, indices)
      {unpack_rows_text("zero_rows", "all_zeros", bits)}
      last_size = Shape <start = -1> (scales)
      zeros_start = {vector([0])}
      zeros_axis = {vector([-1])}
      taken_zeros = Slice(all_zeros, zeros_start, last_size, zeros_axis)"""


def default_zeros_text(value: int, dtype: DataType, axis: int) -> str:
    """The nodes of `taken_zeros`, if the zero points are omitted."""
    return f"""
      zero = {scalar(value, dtype)}
      scale_rows = Gather <axis = {axis}> (scales, indices)
      zero_sizes = Shape(scale_rows)
      taken_zeros = Expand(zero, zero_sizes)"""


def unpack_rows_text(name: str, result: str, bits: int) -> str:
    """The nodes of `result`: the codes in the bytes of `name` along the last axis."""
    if bits == 8:
        return f"{result} = Identity({name})"
    return f"""
      {result}_outer = Shape <end = -1> ({name})
      {result}_rest = {vector([-1])}
      {result}_sizes = Concat <axis = 0> ({result}_outer, {result}_rest)
      {unpack_text(name, f"{result}_flat", bits, [-1])}
      {result} = Reshape({result}_flat, {result}_sizes)"""
