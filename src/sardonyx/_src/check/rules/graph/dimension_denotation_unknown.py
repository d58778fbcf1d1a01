"""SX135 dimension-denotation-unknown: the denotation of a dimension is not defined by the standard.

Clause: DimensionDenotation.md; onnx.proto, TensorShapeProto.Dimension.denotation
Catalogue: SHP-03
Why:    readers know only the defined denotations.
Bad:    g (float[2 @{denotation: "BATCH"}] x) => (float[2] y) { y = Abs(x) }
Good:   g (float[2 @{denotation: "DATA_BATCH"}] x) => (float[2] y) { y = Abs(x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import TensorShapeProtoDimension
from sardonyx._src.proto.record import brief

DIMENSION_DENOTATIONS = (
    "DATA_BATCH DATA_CHANNEL DATA_TIME DATA_FEATURE FILTER_IN_CHANNEL FILTER_OUT_CHANNEL FILTER_SPATIAL"
).split()


@rule(
    "SX135",
    "warning",
    visits=TensorShapeProtoDimension,
    needs="denotation",
    cached_by_fingerprint=True,
    group="strict",
)
def check_dimension_denotation_unknown(
    dim: TensorShapeProtoDimension, context: RuleContext
) -> Iterator[Finding]:
    if dim.denotation and dim.denotation not in DIMENSION_DENOTATIONS:
        message = f"{brief(dim.denotation)} is not a denotation of dimensions{context.near(dim.denotation, DIMENSION_DENOTATIONS)}"
        yield Finding("denotation", message, f"write one of {', '.join(DIMENSION_DENOTATIONS)}")
