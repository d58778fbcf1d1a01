"""SX054 training-before-ir-7: a model of an early IR version has training information.

Clause: onnx.proto, Version, IR_VERSION_2020_5_8
Catalogue: VER-05
Why:    readers of that version do not know the field.
Bad:    <ir_version: 6, opset_import: ["": 12], training_info: [{}]> g (float[2] x) => (float[2] y) { y = Abs(x) }
Good:   <ir_version: 7, opset_import: ["": 12], training_info: [{}]> g (float[2] x) => (float[2] y) { y = Abs(x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import TrainingInfoProto


@rule("SX054", visits=TrainingInfoProto, until=6, suppresses=True)
def check_training_before_ir_7(step: TrainingInfoProto, context: RuleContext) -> Iterator[Finding]:
    message = f"training_info requires IR version 7; the model has version {context.ir_version}"
    yield Finding("", message, "raise ir_version to 7")
