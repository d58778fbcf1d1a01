"""SX135 dimension-denotation-unknown: the denotation of a dimension is none of the defined words.

Clause: DimensionDenotation.md; onnx.proto, TensorShapeProto.Dimension.denotation
Catalogue: SHP-03
Why:    readers know the defined words only.
Bad:    g (float[2 @{denotation: "BATCH"}] x) => (float[2] y) { y = Abs(x) }
Good:   g (float[2 @{denotation: "DATA_BATCH"}] x) => (float[2] y) { y = Abs(x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import Context
from sardonyx._src.proto.messages import TensorShapeProtoDimension
from sardonyx._src.proto.record import brief

WORDS = (
    "DATA_BATCH DATA_CHANNEL DATA_TIME DATA_FEATURE FILTER_IN_CHANNEL FILTER_OUT_CHANNEL FILTER_SPATIAL"
).split()


@rule("SX135", "warning", visits=TensorShapeProtoDimension, needs="denotation", by_form=True)
def dimension_denotation_unknown(dim: TensorShapeProtoDimension, context: Context) -> Iterator[Finding]:
    if dim.denotation and dim.denotation not in WORDS:
        says = f"{brief(dim.denotation)} is no denotation of dimensions{context.near(dim.denotation, WORDS)}"
        yield Finding("denotation", says, f"write one of {', '.join(WORDS)}")
