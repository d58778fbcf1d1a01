"""open-dimension: turns a dimension with a negative size or an empty name into one of unknown size, as exporters intend."""

from __future__ import annotations

from sardonyx._src.check.fixing.api import Violation, fix
from sardonyx._src.proto.messages import TensorShapeProtoDimension


@fix("SX132 SX134")
def open_dimension(violation: Violation) -> str:
    dim = violation.visited_record(TensorShapeProtoDimension)
    old = dim.dim_value if dim.has("dim_value") else dim.dim_param
    dim.clear("dim_value")
    dim.clear("dim_param")
    return f"dropped {old!r}: the size is unknown"
