"""SX505 binding-type-differs: a training binding gives a variable a value of another type or shape.

Clause: IR.md, "Training"
Catalogue: TRN-10
Why:    the variable keeps the type and shape of its initializer.
Bad:    <training_info: [{algorithm: a () => (float[4] n) { n = Concat <axis = 0> (w, w) }, update_binding: ["w": "n"]}]>
        g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Add(x, w) }
Good:   <training_info: [{algorithm: a () => (float[2] n) { n = Neg(w) }, update_binding: ["w": "n"]}]>
        g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Add(x, w) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.analysis.declared_types import describe_misfit
from sardonyx._src.check.analysis.training import BINDINGS, bound_values, state_of
from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import TrainingInfoProto
from sardonyx._src.proto.record import brief


@rule("SX505", visits=TrainingInfoProto, since=7, suppressed_by="SX300 SX301 SX134")
def check_binding_type_differs(step: TrainingInfoProto, context: RuleContext) -> Iterator[Finding]:
    """Compares declared types."""
    state = state_of(step, context.document)
    for field in BINDINGS:
        known = bound_values(step, field, context.document)
        for i, binding in enumerate(getattr(step, field)):
            value, tensor = known.get(binding.value), state.get(binding.key)
            if value is not None and tensor is not None and (why := describe_misfit(value.type, tensor)):
                message = f"{brief(binding.value)} and {brief(binding.key)} differ: {why.replace('the input', 'the value')}"
                yield Finding(f"{field}[{i}]", message, "compute a value of the variable's type and shape")
