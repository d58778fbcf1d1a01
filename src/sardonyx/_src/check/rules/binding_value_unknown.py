"""SX501 binding-value-unknown: a training binding takes its value from something that is no output.

Clause: IR.md, "Training"; onnx.proto, TrainingInfoProto.initialization_binding, update_binding
Catalogue: TRN-02
Why:    new values are outputs: of the initialization graph, or of the algorithm or the inference graph.
Bad:    <training_info: [{algorithm: a () => (float[2] n) { n = Neg(w) }, update_binding: ["w": "m"]}]>
        g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Add(x, w) }
Good:   <training_info: [{algorithm: a () => (float[2] n) { n = Neg(w) }, update_binding: ["w": "n"]}]>
        g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Add(x, w) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import Context
from sardonyx._src.check.training import BINDINGS, bound_values
from sardonyx._src.proto.messages import TrainingInfoProto
from sardonyx._src.proto.record import brief


@rule("SX501", visits=TrainingInfoProto, since=7, unless="SX503")
def binding_value_unknown(step: TrainingInfoProto, context: Context) -> Iterator[Finding]:
    for field in BINDINGS:
        known = bound_values(step, field, context.document)
        for i, one in enumerate(getattr(step, field)):
            if one.value not in known:
                says = f"{brief(one.value)} is no output that could be bound{context.near(one.value, known)}"
                yield Finding(f"{field}[{i}].value", says, "name an output of the graph that makes the value")
