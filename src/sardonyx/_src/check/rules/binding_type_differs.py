"""SX505 binding-type-differs: a training binding gives a variable a value of another type or shape.

Clause: IR.md, "Training"
Catalogue: TRN-10
Why:    the variable has the type and shape of its initializer for good.
Bad:    <training_info: [{algorithm: a () => (float[4] n) { n = Concat <axis = 0> (w, w) }, update_binding: ["w": "n"]}]>
        g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Add(x, w) }
Good:   <training_info: [{algorithm: a () => (float[2] n) { n = Neg(w) }, update_binding: ["w": "n"]}]>
        g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Add(x, w) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import Context
from sardonyx._src.check.training import BINDINGS, bound_values, state_of
from sardonyx._src.check.types import misfit
from sardonyx._src.proto.messages import TrainingInfoProto
from sardonyx._src.proto.record import brief


@rule("SX505", visits=TrainingInfoProto, since=7, unless="SX300 SX301 SX134")
def binding_type_differs(step: TrainingInfoProto, context: Context) -> Iterator[Finding]:
    """As far as the declared types tell."""
    state = state_of(step, context.document)
    for field in BINDINGS:
        known = bound_values(step, field, context.document)
        for i, one in enumerate(getattr(step, field)):
            value, tensor = known.get(one.value), state.get(one.key)
            if value is not None and tensor is not None and (why := misfit(value.type, tensor)):
                says = f"of {brief(one.value)} and {brief(one.key)}: {why.replace('the input', 'the value')}"
                yield Finding(f"{field}[{i}]", says, "make a value of the variable's type and shape")
