"""DepthToSpace: rearranges channels into blocks of pixels.

Spec: ai.onnx DepthToSpace-1, -11, -13, -28.  11 adds `mode`: in DCR, the order of version 1, the position in the block
comes before the output channel, in CRD after it; 13 adds an element type, 28 a function body.
"""

from __future__ import annotations

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array, TensorType
from sardonyx._src.ir.dims import Dim, dim_mul, exact_div
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.support.body_text import vector
from sardonyx._src.ops.traits import enum_values

op = Operator("DepthToSpace", moves_data=True, enum_attributes={"mode": enum_values("DCR", "CRD")})


@op.infer(1, 11, 13, 28)
def infer(inference: Inference) -> Result:
    data, block = inference.tensor(0), inference.integer("blocksize")
    if data is None:
        return None
    if block < 1:
        inference.fail(f"blocksize must be >= 1; got {block}")
    if data.shape is None:
        return TensorType(data.dtype, (None,) * 4)
    if len(data.shape) != 4:
        inference.fail(f"the input must be [N, C, H, W]; got rank {len(data.shape)}")
    n, c, h, w = data.shape
    return TensorType(
        data.dtype, (n, output_channels(inference, c, block), dim_mul(h, block), dim_mul(w, block))
    )


def output_channels(inference: Inference, channels: Dim, block: int) -> Dim:
    try:
        return exact_div(channels, block * block)
    except ValueError:
        inference.fail(f"channels must be a multiple of blocksize {block} squared; got {channels}")


@op.eval(1, 11, 13, 28)
def evaluate(input: Array, *, blocksize: int, mode: str = "DCR") -> Array:
    """input: [N, C, H, W]; result: [N, C / b^2, H * b, W * b] for b = `blocksize`."""
    if input.ndim != 4 or blocksize < 1 or input.shape[1] % blocksize**2:
        what = f"the input must be [N, C, H, W] with C a multiple of {blocksize}^2; got {list(input.shape)}"
        raise EvaluationError(what)
    n, c, h, w = input.shape
    channels = c // blocksize**2
    if mode == "DCR":
        blocks = input.reshape(n, blocksize, blocksize, channels, h, w).transpose(0, 3, 4, 1, 5, 2)
    elif mode == "CRD":
        blocks = input.reshape(n, channels, blocksize, blocksize, h, w).transpose(0, 1, 4, 2, 5, 3)
    else:
        raise EvaluationError(f"mode must be DCR or CRD; got {mode!r}")
    return blocks.reshape(n, channels, h * blocksize, w * blocksize)


@op.body(28, opset=14)
def body(inference: Inference) -> str:
    block = inference.integer("blocksize")
    is_dcr = inference.attributes["mode"] == "DCR"
    order = "[0, 3, 4, 1, 5, 2]" if is_dcr else "[0, 1, 4, 2, 5, 3]"
    return f"""(x) => (y) {{
      block = {vector([block])}
      area = {vector([block * block])}
      shape = Shape(x)
      n, c, h, w = Split(shape)
      left = Div(c, area)
      apart = Concat <axis = 0> (n, {"block, block, left" if is_dcr else "left, block, block"}, h, w)
      blocks = Reshape <allowzero = 1> (x, apart)
      beside = Transpose <perm = {order}> (blocks)
      high = Mul(h, block)
      wide = Mul(w, block)
      whole = Concat <axis = 0> (n, left, high, wide)
      y = Reshape <allowzero = 1> (beside, whole)
    }}"""
