"""SX501 binding-value-unknown: a training binding takes its value from a name that is not an output.

Clause: IR.md, "Training"; onnx.proto, TrainingInfoProto.initialization_binding, update_binding
Catalogue: TRN-02
Why:    new values are outputs of the initialization graph, or of the algorithm or the inference graph.
Bad:    <training_info: [{algorithm: a () => (float[2] n) { n = Neg(w) }, update_binding: ["w": "m"]}]>
        g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Add(x, w) }
Good:   <training_info: [{algorithm: a () => (float[2] n) { n = Neg(w) }, update_binding: ["w": "n"]}]>
        g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Add(x, w) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.analysis.training import BINDINGS, bound_values
from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import TrainingInfoProto
from sardonyx._src.proto.record import brief


@rule("SX501", visits=TrainingInfoProto, since=7, suppressed_by="SX503")
def check_binding_value_unknown(step: TrainingInfoProto, context: RuleContext) -> Iterator[Finding]:
    for field in BINDINGS:
        known = bound_values(step, field, context.document)
        for i, binding in enumerate(getattr(step, field)):
            if binding.value not in known:
                message = f"{brief(binding.value)} is not an output that can be bound{context.near(binding.value, known)}"
                yield Finding(
                    f"{field}[{i}].value", message, "name an output of the graph that computes the value"
                )
