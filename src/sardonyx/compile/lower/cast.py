"""Cast: elementwise; where floats of 16 bits are widened it is left to those who read the result, who may take these."""

from __future__ import annotations

from sardonyx.compile.dequantizing import is_widening
from sardonyx.compile.lower.elementwise import lower
from sardonyx.compile.lower.quantization import can_be_put_down, made
from sardonyx.compile.lowering import Lowering
from sardonyx.compile.nodes import Call
from sardonyx.compile.registry import lowers
from sardonyx.schema import versions


@lowers("Cast", versions("", "Cast")[-1])
def cast(call: Call, at: Lowering) -> bool:
    if not is_widening(call.node) or not can_be_put_down(call, at):
        return lower(call, at)
    at.defer(call.output, lambda: made(call, at))
    return True
