"""SX712 state-type-differs: a training binding assigns a value of another inferred type or shape to a variable.

Clause: IR.md, "Training"
Catalogue: TRN-10
Why:    the variable keeps the type and shape of its initializer; this rule uses inferred types where none is declared.
Bad:    <training_info: [{algorithm: a () => (float[N] n) { n = Concat <axis = 0> (w, w) }, update_binding: ["w": "n"]}]>
        g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Add(x, w) }
Good:   <training_info: [{algorithm: a () => (float[N] n) { n = Neg (w) }, update_binding: ["w": "n"]}]>
        g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Add(x, w) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.analysis.training import BINDINGS
from sardonyx._src.check.engine import Finding
from sardonyx._src.check.type_rules.subjects import TypedModel, type_rule
from sardonyx._src.errors import InferenceError
from sardonyx._src.infer.merge import merge_types
from sardonyx._src.ir import SparseTensor, SparseTensorType, Tensor, TensorType, Value
from sardonyx._src.proto.record import brief


@type_rule("SX712", about=TypedModel, suppressed_by="SX505", since=7)
def check_state_type_differs(typed_model: TypedModel) -> Iterator[Finding]:
    for i, step in enumerate(typed_model.model.training):
        for field in BINDINGS:
            for j, (key, value) in enumerate(getattr(step, field)):
                why = difference(key, value)
                if why:
                    message = f"{brief(value.name)} must be {why}, as {brief(key.name)}; got {value.type}"
                    help_ = "compute a value of the variable's type and shape"
                    yield Finding(f"training_info[{i}].{field}[{j}]", message, help_)


def difference(key: Value, value: Value) -> str:
    """The variable's type, if the value's type contradicts it, else ""."""
    state = key.initializer
    if not isinstance(state, Tensor | SparseTensor):
        return ""
    own = (TensorType if isinstance(state, Tensor) else SparseTensorType)(state.dtype, tuple(state.shape))
    try:
        merge_types(value.type, own)
    except InferenceError:
        return str(own)
    return ""
