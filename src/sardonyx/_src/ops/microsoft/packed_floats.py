"""MatMulFpQ4 of com.microsoft: MatMul by weights of 4 bits in blocks, each of which begins with its scale.

Spec: com.microsoft MatMulFpQ4-1, as onnxruntime computes it.  A column of the weights is stored as a row of blocks of 32
elements.  The bytes of a block are a float32 scale; with quantization type 1 a zero point; and 16 bytes with the first
sixteen elements in their low halves and the others in their high halves.
"""

from __future__ import annotations

from sardonyx._src.dtypes import DataType
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference
from sardonyx._src.ops.microsoft.text import DOMAIN
from sardonyx._src.ops.support.body_text import scalar, vector

op = Operator(
    "MatMulFpQ4",
    DOMAIN,
    tolerance="rounding",
    about="MatMul by weights of 4 bits in blocks with their scales",
)
WITHOUT_ZERO_POINT, WITH_ZERO_POINT = 0, 1  # values of blk_quant_type
SCALE_BYTES, PACKED_BYTES = 4, 16  # bytes of the scale and of the elements in a block of 32 elements


@op.body(1, opset=26)
def body(inference: Inference) -> str:
    """a: [..., k]; blob: [columns * blocks * bytes of a block] uint8; shape: [2], k and columns."""
    kind = inference.integer("blk_quant_type")
    if kind not in (WITHOUT_ZERO_POINT, WITH_ZERO_POINT):
        inference.fail(f"blk_quant_type must be 0 or 1; got {kind}")
    zero_bytes = int(kind == WITH_ZERO_POINT)
    head = SCALE_BYTES + zero_bytes
    zero = f"zero_bytes_at = {vector([SCALE_BYTES])}  zero = Slice(bytes, zero_bytes_at, head_end, last)"
    return f"""(a, blob, shape) => (y) {{
      start = {vector([0])}
      second = {vector([1])}
      both = {vector([2])}
      row_end = Slice(shape, start, second)
      columns = Slice(shape, second, both)
      block_sizes = {vector([-1, head + PACKED_BYTES])}
      block_shape = Concat <axis = 0> (columns, block_sizes)
      bytes = Reshape(blob, block_shape)
      scale_end = {vector([SCALE_BYTES])}
      head_end = {vector([head])}
      block_end = {vector([head + PACKED_BYTES])}
      last = {vector([-1])}
      scale_bytes = Slice(bytes, start, scale_end, last)
      {scale_text()}
      {zero if zero_bytes else f"zero = {scalar(8, DataType.UINT8)}"}
      wide_zero = Cast <to = {int(DataType.FLOAT)}> (zero)
      packed = Slice(bytes, head_end, block_end, last)
      sixteen = {scalar(16, DataType.UINT8)}
      low = Mod(packed, sixteen)
      high = Div(packed, sixteen)
      numbers = Concat <axis = -1> (low, high)
      wide_numbers = Cast <to = {int(DataType.FLOAT)}> (numbers)
      centered = Sub(wide_numbers, wide_zero)
      scaled = Mul(centered, scale)
      row_shape = {vector([0, -1])}
      rows = Reshape(scaled, row_shape)
      own_rows = Slice(rows, start, row_end, last)
      weights = Transpose <perm = [1, 0]> (own_rows)
      y = MatMul(a, weights)
    }}"""


def scale_text() -> str:
    """The nodes of `scale`, [columns, blocks, 1]: four bytes of each block, the least significant first, as a float32."""
    wide = int(DataType.UINT32)
    return f"""
      wide_bytes = Cast <to = {wide}> (scale_bytes)
      places = Constant <value = uint32[4] {{1, 256, 65536, 16777216}}> ()
      shares = Mul(wide_bytes, places)
      wide_shares = Cast <to = {int(DataType.INT64)}> (shares)
      bits = ReduceSum(wide_shares, last)
      words = Cast <to = {wide}> (bits)
      scale = BitCast <to = {int(DataType.FLOAT)}> (words)"""
