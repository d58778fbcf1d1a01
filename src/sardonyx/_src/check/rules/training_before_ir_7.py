"""SX054 training-before-ir-7: a model of an early IR version has training information.

Clause: onnx.proto, Version, IR_VERSION_2020_5_8
Catalogue: VER-05
Why:    readers of that version do not know the field.
Bad:    <ir_version: 6, opset_import: ["": 12], training_info: [{}]> g (float[2] x) => (float[2] y) { y = Abs(x) }
Good:   <ir_version: 7, opset_import: ["": 12], training_info: [{}]> g (float[2] x) => (float[2] y) { y = Abs(x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import Context
from sardonyx._src.proto.messages import TrainingInfoProto


@rule("SX054", visits=TrainingInfoProto, until=6, hides=True)
def training_before_ir_7(step: TrainingInfoProto, context: Context) -> Iterator[Finding]:
    says = f"training_info came with IR version 7; the model says {context.ir_version}"
    yield Finding("", says, "raise ir_version to 7")
