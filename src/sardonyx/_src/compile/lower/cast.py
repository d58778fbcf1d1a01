"""Cast: elementwise; where floats of 16 bits are widened it is left to those who read the result, who may take these."""

from __future__ import annotations

from sardonyx._src.compile.dequantizing import is_widening
from sardonyx._src.compile.lower.elementwise import lower
from sardonyx._src.compile.lower.quantization import can_be_put_down, made
from sardonyx._src.compile.lowering import Lowering
from sardonyx._src.compile.nodes import Call
from sardonyx._src.compile.registry import lowers
from sardonyx._src.schema import versions


@lowers("Cast", versions("", "Cast")[-1])
def cast(call: Call, at: Lowering) -> bool:
    if not is_widening(call.node) or not can_be_put_down(call, at):
        return lower(call, at)
    at.defer(call.output, lambda: made(call, at))
    return True
