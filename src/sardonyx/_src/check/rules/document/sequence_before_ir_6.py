"""SX051 sequence-before-ir-6: a model of an early IR version has sequences or maps.

Clause: IR.md, "Standard data types"
Catalogue: VER-02
Why:    before IR version 6 only models that import ai.onnx.ml had these types.
Bad:    <ir_version: 5, opset_import: ["": 10]> g (seq(float[2]) x) => (seq(float[2]) y) { y = Identity(x) }
Good:   <ir_version: 5, opset_import: ["": 10, "ai.onnx.ml": 1]> g (float[2] x) => (seq(map(int64, float)) y) {
          y = ai.onnx.ml.ZipMap <classlabels_int64s = [1, 2]> (x)
        }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import TypeProto


@rule("SX051", visits=TypeProto, until=5, cached_by_fingerprint=True)
def check_sequence_before_ir_6(type_: TypeProto, context: RuleContext) -> Iterator[Finding]:
    kind = type_.which("value")
    if kind in ("sequence_type", "map_type") and "ai.onnx.ml" not in context.document.imports:
        message = f"IR version {context.ir_version} has a {kind.removesuffix('_type')} in models with ai.onnx.ml only"
        yield Finding("", message, "raise ir_version to 6", dedup_key="ir_version")
