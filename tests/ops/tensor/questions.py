"""Questions to the facets of one node, and what tests of moving operators share."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pytest

from cases import Case, check
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError, InferenceError, LimitError
from sardonyx._src.ir.dims import Dim, symbol
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.types import Shape, TensorType, Type
from sardonyx._src.ops.bind import plain
from sardonyx._src.ops.inference import Inference, Known
from sardonyx._src.ops.registry import find
from sardonyx._src.schema import exact

N, M = symbol("N"), symbol("M")
FLOAT, INT64 = DataType.FLOAT, DataType.INT64


def asked(
    op_type: str,
    version: int,
    inputs: Sequence[Type | None],
    known: Mapping[int, Known] | None = None,
    outputs: int = 1,
    **attributes: object,
) -> Inference:
    """A node of exactly this version; `known` holds elements of inputs; new symbols are `new0`, `new1`, …"""
    schema = exact("", op_type, version)
    assert schema is not None, f"{op_type}-{version} is no version"
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


def types(question: Inference) -> list[Type | None]:
    """What the infer facet answers, an entry for each output."""
    op = find("", question.op_type)
    assert op is not None
    answer = op.infers[question.version](question)
    return list(answer) if isinstance(answer, Sequence) else [answer]


def shape(question: Inference) -> Shape | None:
    """The shape that the infer facet tells of output 0."""
    found = types(question)[0]
    assert isinstance(found, TensorType), f"{found} is no tensor type"
    return found.shape


def value(question: Inference) -> object:
    """What the value facet knows of output 0, as nested lists; the elements' own type when all are numbers."""
    op = find("", question.op_type)
    assert op is not None
    found = op.values[question.version](question)
    if found is not None and all(isinstance(e, int) for e in found.reshape(-1).tolist()):
        assert found.dtype.kind in "ib", f"numbers in an array of {found.dtype}"
    return None if found is None else found.tolist()


def floats(*dims: Dim) -> TensorType:
    return TensorType(FLOAT, dims)


def ints(*dims: Dim) -> TensorType:
    return TensorType(INT64, dims)


def vec(*elements: Dim) -> Known:
    """A vector of known elements: of int64 when all are numbers."""
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


def refused(case: Case, match: str) -> None:
    """Asserts that the kernel refuses these values, saying so."""
    with pytest.raises(EvaluationError, match=match):
        check(case)


def too_large(case: Case) -> None:
    """Asserts that the kernel refuses to allocate the result."""
    with pytest.raises(LimitError, match=r"limits\.bytes"):
        check(case)


def contradicts(question: Inference, match: str) -> None:
    """Asserts that inference finds a contradiction."""
    with pytest.raises(InferenceError, match=match):
        types(question)


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
