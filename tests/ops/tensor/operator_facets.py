"""Calls of the facets of one node, assertions and sample values shared by operator tests."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pytest

from cases import Case, assert_case
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError, InferenceError, LimitError
from sardonyx._src.ir import Array, Shape, TensorType, Type
from sardonyx._src.ir.dims import Dim, symbol
from sardonyx._src.ops.bind import plain
from sardonyx._src.ops.inference import Inference, Known
from sardonyx._src.ops.registry import find
from sardonyx._src.schema import exact

N, M = symbol("N"), symbol("M")
FLOAT, INT64 = DataType.FLOAT, DataType.INT64


def make_inference(
    op_type: str,
    version: int,
    inputs: Sequence[Type | None],
    known: Mapping[int, Known] | None = None,
    outputs: int = 1,
    **attributes: object,
) -> Inference:
    """The inference context of a node of exactly this version; `known`: elements of inputs; fresh symbols are `new0`, …"""
    schema = exact("", op_type, version)
    assert schema is not None, f"no version {version} of {op_type}"
    defaults = {k: plain(a.default) for k, a in schema.attributes.items() if a.default is not None}
    count = itertools.count()
    return Inference(
        op_type=op_type,
        version=version,
        inputs=inputs,
        given=[True] * len(inputs),
        attributes={**defaults, **attributes},
        outputs=outputs,
        known=[(known or {}).get(i) for i in range(len(inputs))],
        fresh=lambda: symbol(f"new{next(count)}"),
    )


def infer_types(inference: Inference) -> list[Type | None]:
    """The result of the infer facet, one type per output."""
    op = find("", inference.op_type)
    assert op is not None
    answer = op.infers[inference.version](inference)
    return list(answer) if isinstance(answer, Sequence) else [answer]


def infer_shape(inference: Inference) -> Shape | None:
    """The shape of output 0 according to the infer facet."""
    output_type = infer_types(inference)[0]
    assert isinstance(output_type, TensorType), f"output 0 must be a tensor; got {output_type}"
    return output_type.shape


def infer_elements(inference: Inference) -> object:
    """The elements of output 0 according to the value facet, as nested lists; None if unknown."""
    op = find("", inference.op_type)
    assert op is not None
    elements = op.values[inference.version](inference)
    if elements is not None and all(isinstance(e, int) for e in elements.reshape(-1).tolist()):
        assert elements.dtype.kind in "ib", f"numbers in an array of {elements.dtype}"
    return None if elements is None else elements.tolist()


def floats(*dims: Dim) -> TensorType:
    return TensorType(FLOAT, dims)


def ints(*dims: Dim) -> TensorType:
    return TensorType(INT64, dims)


def vec(*elements: Dim) -> Known:
    """A vector of known elements: int64 if all are numbers, otherwise objects."""
    if all(isinstance(e, int) for e in elements):
        return np.array(elements, np.int64)
    result = np.empty(len(elements), np.object_)
    result[:] = elements
    return result


def i64(values: object) -> Array:
    return np.array(values, np.int64)


def f32(values: object) -> Array:
    return np.array(values, np.float32)


def strs(values: object) -> Array:
    return np.array(values, np.object_)


def assert_refused(case: Case, match: str) -> None:
    """Asserts that the kernel rejects these values with a matching error."""
    with pytest.raises(EvaluationError, match=match):
        assert_case(case)


def assert_too_large(case: Case) -> None:
    """Asserts that the result exceeds the memory limit of a run."""
    with pytest.raises(LimitError, match=r"limits\.bytes"):
        assert_case(case)


def assert_contradiction(inference: Inference, match: str) -> None:
    """Asserts that inference raises a matching error."""
    with pytest.raises(InferenceError, match=match):
        infer_types(inference)


def samples(op_type: str, version: int, i: int = 0) -> Iterator[Array]:
    """For each tensor type that input i of exactly this version allows, four different elements, read-only."""
    schema = exact("", op_type, version)
    assert schema is not None
    parameter = schema.input(i) if schema.inputs else schema.outputs[0]
    assert parameter is not None
    for text in schema.type_constraints[parameter.type]:
        if text.startswith("tensor("):
            yield sample(DataType.parse(text[7:-1]))


def sample(dtype: DataType) -> Array:
    """Four elements of that type, all different but for bool, read-only."""
    values: Sequence[object] = [1, 2, 3, 0]
    if dtype is DataType.STRING:
        values = ["b", "", "ü", "a"]
    elif dtype.is_float:
        values = [1, 2, 4, 0.5]
    elif dtype is DataType.INT2:
        values = [1, 0, -2, -1]
    elif dtype.is_complex:
        values = [1 + 2j, 2j, 0, 3]
    wide = np.array(values, np.float32) if dtype.is_float else np.array(values)
    result = wide.astype(dtype.numpy)
    result.flags.writeable = False
    return result
