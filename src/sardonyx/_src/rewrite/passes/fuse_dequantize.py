"""fuse-dequantize: replace a Cast of int32 and a scale per tensor or last axis by DequantizeLinear.

Spec:    Cast-9 -13 -19 -21 -23 -24 -25 -28, Mul-13 -14, DequantizeLinear-13 -19 -21 -23 -24 -25 -28
Before:  c = Cast<to = 1, saturate = @a, round_mode = @b>(x)  y = Mul(c, s)
or
         c = Cast<to = 1, saturate = @a>(x)  y = Mul(c, s)
or
         c = Cast<to = 1>(x)  y = Mul(c, s)
After:   y = DequantizeLinear<axis = @axis>(x, s)
Keeps:   intermediate values with other uses; scales of other axes; results exactly.
"""

from __future__ import annotations

from sardonyx._src.dtypes import DataType
from sardonyx._src.rewrite.api import Bindings, pattern
from sardonyx._src.rewrite.engine.match import Match


@pattern(phase="fuse")
def fuse_dequantize(match: Match) -> Bindings | None:
    source, scale = match.edit.type(match.value("x")), match.edit.type(match.value("s"))
    if source is None or scale is None or source.dtype is not DataType.INT32 or source.shape is None:
        return None
    if scale.shape == ():
        return {"axis": None}
    if scale.shape is None or len(scale.shape) != 1 or not source.shape or scale.shape[0] is None:
        return None
    return {"axis": len(source.shape) - 1} if scale.shape[0] == source.shape[-1] else None
