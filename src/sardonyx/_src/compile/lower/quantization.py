"""DequantizeLinear: left to those who read the result, who may do better with the integers."""

from __future__ import annotations

from sardonyx._src.compile.elementwise.quantization import NARROW
from sardonyx._src.compile.fusion import alone
from sardonyx._src.compile.lower.elementwise import is_known, lower, put_down
from sardonyx._src.compile.lowering import Lowering
from sardonyx._src.compile.nodes import Call
from sardonyx._src.compile.registry import lowers
from sardonyx._src.ir.tensors import Tensor
from sardonyx._src.schema import versions


@lowers("DequantizeLinear", versions("", "DequantizeLinear")[-1])
def dequantize(call: Call, at: Lowering) -> bool:
    is_constant = all(value is None or isinstance(value.initializer, Tensor) for value in call.node.inputs)
    if not is_constant and at.dtype_of(call.input(0)) not in NARROW:
        return lower(call, at)
    if at.shape(call.output) is None or not (is_constant or can_be_put_down(call, at)):
        return False
    at.defer(call.output, lambda: made(call, at))
    return True


def can_be_put_down(call: Call, at: Lowering) -> bool:
    group = alone(at, call.node)
    return group is not None and is_known(at, group)


def made(call: Call, at: Lowering) -> None:
    """Puts down the node itself."""
    group = alone(at, call.node)
    if group is not None and is_known(at, group):
        put_down(at, group)
    else:
        at.actions.append(at.host_call(call.node))
