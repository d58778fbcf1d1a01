"""Constant: a tensor that the node itself holds.

Spec: ai.onnx Constant-1, -9, -11, -12, -13, -19, -21, -23, -24, -25.  Up to 9 only `value`; 11 adds `sparse_value`,
which comes out as a dense tensor, 12 the `value_*` attributes; from 13 on the element types grow.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.tensors import Array, SparseTensor, Tensor
from sardonyx._src.ir.types import TensorType
from sardonyx._src.ops.api import Call, Operator, claim
from sardonyx._src.ops.change import FIRST_CONSTANTS, Change, Converted
from sardonyx._src.ops.inference import Inference, Known, Result
from sardonyx._src.ops.tensor.elements import LIMIT

op = Operator("Constant")
VERSIONS = (1, 9, 11, 12, 13, 19, 21, 23, 24, 25)
PLAIN = {
    "value_float": DataType.FLOAT,
    "value_floats": DataType.FLOAT,
    "value_int": DataType.INT64,
    "value_ints": DataType.INT64,
    "value_string": DataType.STRING,
    "value_strings": DataType.STRING,
}
FORMS = ("value", "sparse_value", *PLAIN)


@op.infer(*VERSIONS)
def infer(t: Inference) -> Result:
    name, form = only_form(t)
    if isinstance(form, SparseTensor):
        return TensorType(form.dtype, form.shape)
    if isinstance(form, np.ndarray):
        return TensorType(DataType.of(form.dtype), form.shape)
    return TensorType(PLAIN[name], (len(form),) if isinstance(form, tuple) else ())


@op.value(*VERSIONS)
def value(t: Inference) -> Known | None:
    name, form = only_form(t)
    if isinstance(form, SparseTensor):
        return None
    found = form if isinstance(form, np.ndarray) else np.array(form, PLAIN[name].numpy)
    return found if found.size <= LIMIT and found.dtype != object else None


def only_form(t: Inference) -> tuple[str, object]:
    """The one attribute that says the value; raises InferenceError when there is none or a second one."""
    found = given(t.attributes)
    if len(found) != 1:
        t.fail(one_wanted(found))
    return next(iter(found.items()))


def given(attributes: Mapping[str, object]) -> dict[str, object]:
    return {name: attributes[name] for name in FORMS if attributes.get(name) is not None}


def one_wanted(found: Mapping[str, object]) -> str:
    return f"{' and '.join(found) or 'no value'} given, where exactly one of {', '.join(FORMS)} is wanted"


@op.convert((12, 11))
def to_11(c: Change) -> Converted:
    """Every value is a tensor."""
    if any(a.ref for a in c.node.attributes.values()):
        c.refuse("its value is decided by the calls of the function; inline it first")
    name, form = only_form(c.t)
    return c.same() if name not in PLAIN else c.same(drop=(name,), value=Tensor.of(form, PLAIN[name]))


@op.convert((11, 9))
def to_9(c: Change) -> Converted:
    """Every value is a dense tensor."""
    form = c.node.attributes.get("sparse_value")
    if form is None:
        return c.same()
    assert isinstance(form.value, SparseTensor), "the value of sparse_value is sparse"
    if math.prod(form.value.shape) > 1 << 24:
        c.refuse(f"it is sparse, and would take {math.prod(form.value.shape)} elements")
    return c.same(drop=("sparse_value",), value=Tensor.of(form.value.numpy(), form.value.dtype))


@op.convert((9, 1))
def to_1(c: Change) -> Converted:
    """Floats alone; others are initializers."""
    value = c.node.attributes["value"].value
    assert isinstance(value, Tensor), "the value of a Constant is a tensor"
    return c.same() if value.dtype in FIRST_CONSTANTS else c.place.initializer(value, c)


@op.eval(*VERSIONS)
def evaluate(
    *,
    value: Array | None = None,
    sparse_value: SparseTensor | None = None,
    value_float: float | None = None,
    value_floats: tuple[float, ...] | None = None,
    value_int: int | None = None,
    value_ints: tuple[int, ...] | None = None,
    value_string: str | None = None,
    value_strings: tuple[str, ...] | None = None,
    call: Call,
) -> Array:
    """Exactly one attribute is given; plural ones give rank 1, the others a scalar."""
    forms = (
        value,
        sparse_value,
        value_float,
        value_floats,
        value_int,
        value_ints,
        value_string,
        value_strings,
    )
    found = given(dict(zip(FORMS, forms, strict=True)))
    if len(found) != 1:
        raise EvaluationError(one_wanted(found))
    ((name, form),) = found.items()
    if isinstance(form, SparseTensor):
        claim(call, form.shape, form.dtype.numpy, "Constant result")
        return form.numpy(call.limits.bytes)
    return form if isinstance(form, np.ndarray) else np.array(form, PLAIN[name].numpy)
