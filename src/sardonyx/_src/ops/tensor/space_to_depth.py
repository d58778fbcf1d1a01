"""SpaceToDepth: rearranges blocks of pixels into channels.

Spec: ai.onnx SpaceToDepth-1, -13, -28.  28 adds `mode`: in DCR, the earlier order, the position in the block comes
before the channel, in CRD after it; 13 adds an element type.
"""

from __future__ import annotations

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array, TensorType
from sardonyx._src.ir.dims import Dim, dim_mul, exact_div
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.support.body_text import vector
from sardonyx._src.ops.traits import enum_values

op = Operator("SpaceToDepth", moves_data=True, enum_attributes={"mode": enum_values("DCR", "CRD")})


@op.infer(1, 13, 28)
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
        data.dtype, (n, dim_mul(c, block * block), blocks(inference, h, block), blocks(inference, w, block))
    )


def blocks(inference: Inference, size: Dim, block: int) -> Dim:
    try:
        return exact_div(size, block)
    except ValueError:
        inference.fail(f"height and width must be multiples of blocksize {block}; got {size}")


@op.eval(1, 13, 28)
def evaluate(input: Array, *, blocksize: int, mode: str = "DCR") -> Array:
    """input: [N, C, H, W]; result: [N, C * b^2, H / b, W / b] for b = `blocksize`."""
    if input.ndim != 4 or blocksize < 1 or input.shape[2] % blocksize or input.shape[3] % blocksize:
        what = (
            f"the input must be [N, C, H, W] with H and W multiples of {blocksize}; got {list(input.shape)}"
        )
        raise EvaluationError(what)
    n, c, h, w = input.shape
    split = input.reshape(n, c, h // blocksize, blocksize, w // blocksize, blocksize)
    if mode == "DCR":
        split = split.transpose(0, 3, 5, 1, 2, 4)
    elif mode == "CRD":
        split = split.transpose(0, 1, 3, 5, 2, 4)
    else:
        raise EvaluationError(f"mode must be DCR or CRD; got {mode!r}")
    return split.reshape(n, c * blocksize**2, h // blocksize, w // blocksize)


@op.body(28, opset=14)
def body(inference: Inference) -> str:
    block = inference.integer("blocksize")
    order = "[0, 3, 5, 1, 2, 4]" if inference.attributes["mode"] == "DCR" else "[0, 1, 3, 5, 2, 4]"
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
