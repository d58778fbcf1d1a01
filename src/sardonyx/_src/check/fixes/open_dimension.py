"""open-dimension: a dimension with a negative size or an empty name becomes one of unknown size, which is what exporters mean."""

from __future__ import annotations

from sardonyx._src.check.mends import Fault, fix
from sardonyx._src.proto.messages import TensorShapeProtoDimension


@fix("SX132 SX134")
def open_dimension(fault: Fault) -> str:
    dim = fault.the(TensorShapeProtoDimension)
    old = dim.dim_value if dim.has("dim_value") else dim.dim_param
    dim.clear("dim_value")
    dim.clear("dim_param")
    return f"dropped {old!r}: the size is unknown"
