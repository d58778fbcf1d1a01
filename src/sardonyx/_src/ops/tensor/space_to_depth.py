"""SpaceToDepth: blocks of pixels laid out as channels.

Spec: ai.onnx SpaceToDepth-1, -13, -28.  28 adds `mode`: DCR, as before, puts the place in the block before the channel,
CRD behind it; 13 adds an element type.
"""

from __future__ import annotations

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.dims import Dim, dim_mul, exact_div
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.types import TensorType
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.body_text import vector
from sardonyx._src.ops.inference import Inference, Result

op = Operator("SpaceToDepth")


@op.infer(1, 13, 28)
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
    return TensorType(data.dtype, (n, dim_mul(c, block * block), blocks(t, h, block), blocks(t, w, block)))


def blocks(t: Inference, size: Dim, block: int) -> Dim:
    try:
        return exact_div(size, block)
    except ValueError:
        t.fail(f"a size of {size} is no multiple of blocksize {block}")


@op.eval(1, 13, 28)
def evaluate(input: Array, *, blocksize: int, mode: str = "DCR") -> Array:
    """input: [N, C, H, W]; result: [N, C * b^2, H / b, W / b] for b = `blocksize`."""
    if input.ndim != 4 or blocksize < 1 or input.shape[2] % blocksize or input.shape[3] % blocksize:
        what = f"input of shape {list(input.shape)}, where [N, C, H, W] with H and W multiples of {blocksize} is wanted"
        raise EvaluationError(what)
    n, c, h, w = input.shape
    apart = input.reshape(n, c, h // blocksize, blocksize, w // blocksize, blocksize)
    if mode == "DCR":
        apart = apart.transpose(0, 3, 5, 1, 2, 4)
    elif mode == "CRD":
        apart = apart.transpose(0, 1, 3, 5, 2, 4)
    else:
        raise EvaluationError(f"mode is {mode!r}, where DCR or CRD is wanted")
    return apart.reshape(n, c * blocksize**2, h // blocksize, w // blocksize)


@op.body(28, opset=14)
def body(t: Inference) -> str:
    block = t.integer("blocksize")
    order = "[0, 3, 5, 1, 2, 4]" if t.attributes["mode"] == "DCR" else "[0, 1, 3, 5, 2, 4]"
    return f"""(x) => (y) {{
      block = {vector([block])}
      area = {vector([block * block])}
      shape = Shape(x)
      n, c, h, w = Split(shape)
      rows = Div(h, block)
      columns = Div(w, block)
      apart = Concat <axis = 0> (n, c, rows, block, columns, block)
      blocks = Reshape <allowzero = 1> (x, apart)
      stacked = Transpose <perm = {order}> (blocks)
      deep = Mul(c, area)
      whole = Concat <axis = 0> (n, deep, rows, columns)
      y = Reshape <allowzero = 1> (stacked, whole)
    }}"""
