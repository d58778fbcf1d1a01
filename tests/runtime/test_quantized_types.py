"""Scales and zero points of other element types and shapes than the signatures of quantized operators allow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pytest

import sardonyx as sx
from cases import Case, model_of
from operator_cases import cases_by_version, feeds_of
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import SardonyxError
from sardonyx._src.io.serde import to_proto
from sardonyx._src.ir import Array
from sardonyx._src.ops.element_types import find_type_mismatch
from sardonyx._src.runtime.session.session import Engine
from sardonyx._src.schema import OpSchema

ENGINES: tuple[Engine, ...] = ("reference", "native")
OPERATORS = (
    "ConvInteger",
    "DequantizeLinear",
    "MatMulInteger",
    "QLinearConv",
    "QLinearMatMul",
    "QuantizeLinear",
)
TYPES = (np.uint8, np.int8, np.int32, np.uint16, np.float16, np.float32, np.float64)


def cases_with(operator: str, parameter: str) -> Iterator[tuple[OpSchema, Case, int]]:
    """For each version of an operator, the first case with a scale or zero point, and the index of that input."""
    for key, cases in cases_by_version().items():
        if key[1] == operator:
            for schema, case in cases:
                indices = [i for i, p in enumerate(schema.inputs) if p.name == parameter]
                if (
                    indices
                    and indices[0] < len(case.inputs)
                    and isinstance(case.inputs[indices[0]], np.ndarray)
                ):
                    yield schema, case, indices[0]
                    break


PARAMETERS = sorted(
    {
        (key[1], parameter.name)
        for key, cases in cases_by_version().items()
        if key[1] in OPERATORS
        for parameter in cases[0][0].inputs
        if "zero_point" in parameter.name or "scale" in parameter.name
    }
)


def with_input(case: Case, i: int, elements: Array) -> Case:
    inputs = list(case.inputs)
    inputs[i] = elements
    return replace(case, inputs=inputs)


@pytest.mark.parametrize(("operator", "parameter"), PARAMETERS)
def test_another_element_type_is_refused(operator: str, parameter: str) -> None:
    for schema, case, i in cases_with(operator, parameter):
        old = case.inputs[i]
        assert isinstance(old, np.ndarray)
        for dtype in TYPES:
            changed = with_input(case, i, np.ones(old.shape, dtype))
            dtypes = [DataType.of(x.dtype) if isinstance(x, np.ndarray) else None for x in changed.inputs]
            if find_type_mismatch(schema, dtypes):
                assert_refused(changed, f"{case} {parameter} of {np.dtype(dtype)}", ENGINES, checks=True)


@pytest.mark.parametrize(("operator", "parameter"), PARAMETERS)
@pytest.mark.parametrize("shape", [(11,), (2, 3, 5)])
def test_another_shape_is_refused(operator: str, parameter: str, shape: tuple[int, ...]) -> None:
    for _, case, i in cases_with(operator, parameter):
        old = case.inputs[i]
        assert isinstance(old, np.ndarray)
        assert_refused(
            with_input(case, i, np.ones(shape, old.dtype)),
            f"{case} {parameter} {shape}",
            ENGINES,
            checks=False,
        )


def assert_refused(case: Case, where: str, engines: Sequence[Engine], *, checks: bool) -> None:
    """Asserts that engines refuse a case; inference and the checker too where `checks` is set."""
    model = model_of(case)
    model.ir_version = 14
    if checks:
        with pytest.raises(sx.InferenceError):
            sx.infer(model)
        for value in model.graph.outputs:
            value.type = model.graph.inputs[0].type
        assert {d.rule for d in sx.check(to_proto.model(model)).of("error")} & {"SX700", "SX703", "SX704"}, (
            where
        )
    for value in model.graph.outputs:
        value.type = None
    for engine in engines:
        try:
            sx.Session(model, engine=engine).run(feeds_of(case))
        except SardonyxError:
            continue
        pytest.fail(f"{where}: {engine} accepts it")
