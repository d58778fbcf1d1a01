"""DepthToSpace: channels laid out as blocks of pixels.

Spec: ai.onnx DepthToSpace-1, -11, -13, -28.  11 adds `mode`: DCR, as version 1 does it, has the place in the block before
the channel left over, CRD behind it; 13 adds an element type, 28 a function body.
"""

from __future__ import annotations

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.dims import Dim, dim_mul, exact_div
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.types import TensorType
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.body_text import vector
from sardonyx._src.ops.inference import Inference, Result

op = Operator("DepthToSpace")


@op.infer(1, 11, 13, 28)
def infer(t: Inference) -> Result:
    data, block = t.tensor(0), t.integer("blocksize")
    if data is None:
        return None
    if block < 1:
        t.fail(f"blocksize is {block}")
    if data.shape is None:
        return TensorType(data.dtype, (None,) * 4)
    if len(data.shape) != 4:
        t.fail(f"the input has rank {len(data.shape)}, where [N, C, H, W] is wanted")
    n, c, h, w = data.shape
    return TensorType(data.dtype, (n, channels_left(t, c, block), dim_mul(h, block), dim_mul(w, block)))


def channels_left(t: Inference, channels: Dim, block: int) -> Dim:
    try:
        return exact_div(channels, block * block)
    except ValueError:
        t.fail(f"{channels} channels do not fill blocks of {block} by {block}")


@op.eval(1, 11, 13, 28)
def evaluate(input: Array, *, blocksize: int, mode: str = "DCR") -> Array:
    """input: [N, C, H, W]; result: [N, C / b^2, H * b, W * b] for b = `blocksize`."""
    if input.ndim != 4 or blocksize < 1 or input.shape[1] % blocksize**2:
        what = f"input of shape {list(input.shape)}, where [N, C, H, W] with C a multiple of {blocksize}^2 is wanted"
        raise EvaluationError(what)
    n, c, h, w = input.shape
    left = c // blocksize**2
    if mode == "DCR":
        blocks = input.reshape(n, blocksize, blocksize, left, h, w).transpose(0, 3, 4, 1, 5, 2)
    elif mode == "CRD":
        blocks = input.reshape(n, left, blocksize, blocksize, h, w).transpose(0, 1, 4, 2, 5, 3)
    else:
        raise EvaluationError(f"mode is {mode!r}, where DCR or CRD is wanted")
    return blocks.reshape(n, left, h * blocksize, w * blocksize)


@op.body(28, opset=14)
def body(t: Inference) -> str:
    block = t.integer("blocksize")
    is_dcr = t.attributes["mode"] == "DCR"
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
