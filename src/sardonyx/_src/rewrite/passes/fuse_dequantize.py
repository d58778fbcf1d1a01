"""fuse-dequantize: 32-bit integers made floats and scaled by the last axis, or all alike, are dequantised.

Spec:    Cast-9 -13 -19 -21 -23 -24 -25 -28, Mul-13 -14, DequantizeLinear-13 -19 -21 -23 -24 -25 -28
Before:  c = Cast<to = 1, saturate = @a, round_mode = @b>(x)  y = Mul(c, s)
or
         c = Cast<to = 1, saturate = @a>(x)  y = Mul(c, s)
or
         c = Cast<to = 1>(x)  y = Mul(c, s)
After:   y = DequantizeLinear<axis = @axis>(x, s)
Keeps:   values still read elsewhere; scales of other axes; every bit.
"""

from __future__ import annotations

from sardonyx._src.dtypes import DataType
from sardonyx._src.rewrite.api import Bindings, pattern
from sardonyx._src.rewrite.match import Match


@pattern(phase="fuse")
def fuse_dequantize(m: Match) -> Bindings | None:
    given, scale = m.edit.type(m.value("x")), m.edit.type(m.value("s"))
    if given is None or scale is None or given.dtype is not DataType.INT32 or given.shape is None:
        return None
    if scale.shape == ():
        return {"axis": None}
    if scale.shape is None or len(scale.shape) != 1 or not given.shape or scale.shape[0] is None:
        return None
    return {"axis": len(given.shape) - 1} if scale.shape[0] == given.shape[-1] else None
