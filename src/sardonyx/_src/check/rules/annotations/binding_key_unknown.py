"""SX500 binding-key-unknown: a training binding assigns to a name that is not state of the model.

Clause: IR.md, "Training"; onnx.proto, TrainingInfoProto.initialization_binding, update_binding
Catalogue: TRN-01 TRN-11
Why:    state consists of the initializers of the inference graph and of the step's own algorithm.
Bad:    <training_info: [{algorithm: a () => (float[2] n) { n = Neg(w) }, update_binding: ["v": "n"]}]>
        g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Add(x, w) }
Good:   <training_info: [{algorithm: a () => (float[2] n) { n = Neg(w) }, update_binding: ["w": "n"]}]>
        g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Add(x, w) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.analysis.training import BINDINGS, state_of
from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import TrainingInfoProto
from sardonyx._src.proto.record import brief


@rule("SX500", visits=TrainingInfoProto, since=7)
def check_binding_key_unknown(step: TrainingInfoProto, context: RuleContext) -> Iterator[Finding]:
    known = state_of(step, context.document)
    for field in BINDINGS:
        for i, binding in enumerate(getattr(step, field)):
            if binding.key not in known:
                message = f"{brief(binding.key)} is not an initializer of the inference graph or of this step's algorithm"
                yield Finding(
                    f"{field}[{i}].key", message + context.near(binding.key, known), "name an initializer"
                )
