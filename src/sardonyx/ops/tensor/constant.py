"""Constant: a tensor that the node itself holds.

Spec: ai.onnx Constant-1, -9, -11, -12, -13, -19, -21, -23, -24, -25.  Up to 9 only `value`; 11 adds `sparse_value`,
which comes out as a dense tensor, 12 the `value_*` attributes; from 13 on the element types grow.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sardonyx.dtypes import DataType
from sardonyx.errors import EvaluationError
from sardonyx.ir.tensors import Array, SparseTensor
from sardonyx.ir.types import TensorType
from sardonyx.ops.api import Call, Operator, claim
from sardonyx.ops.inference import Inference, Known, Result
from sardonyx.ops.tensor.elements import LIMIT

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
