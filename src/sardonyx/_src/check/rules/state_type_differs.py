"""SX712 state-type-differs: a training binding gives a variable what an operator makes of another type or shape.

Clause: IR.md, "Training"
Catalogue: TRN-10
Why:    the variable has the type and shape of its initializer for good; this tells what declarations alone do not.
Bad:    <training_info: [{algorithm: a () => (float[N] n) { n = Concat <axis = 0> (w, w) }, update_binding: ["w": "n"]}]>
        g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Add(x, w) }
Good:   <training_info: [{algorithm: a () => (float[N] n) { n = Neg (w) }, update_binding: ["w": "n"]}]>
        g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Add(x, w) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding
from sardonyx._src.check.training import BINDINGS
from sardonyx._src.check.uses import Typed, typed
from sardonyx._src.errors import InferenceError
from sardonyx._src.infer.merge import merged
from sardonyx._src.ir.graph import Value
from sardonyx._src.ir.tensors import SparseTensor, Tensor
from sardonyx._src.ir.types import SparseTensorType, TensorType
from sardonyx._src.proto.record import brief


@typed("SX712", about=Typed, unless="SX505", since=7)
def state_type_differs(whole: Typed) -> Iterator[Finding]:
    for i, step in enumerate(whole.model.training):
        for field in BINDINGS:
            for j, (key, value) in enumerate(getattr(step, field)):
                why = difference(key, value)
                if why:
                    says = f"{brief(value.name)} is {value.type}, {brief(key.name)} is {why}"
                    help_ = "make a value of the variable's type and shape"
                    yield Finding(f"training_info[{i}].{field}[{j}]", says, help_)


def difference(key: Value, value: Value) -> str:
    """The variable's type, where the value's contradicts it."""
    state = key.initializer
    if not isinstance(state, Tensor | SparseTensor):
        return ""
    own = (TensorType if isinstance(state, Tensor) else SparseTensorType)(state.dtype, tuple(state.shape))
    try:
        merged(value.type, own)
    except InferenceError:
        return str(own)
    return ""
