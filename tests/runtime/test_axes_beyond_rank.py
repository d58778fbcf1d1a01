"""Axes beyond the rank, as attributes and as constant inputs, in every version of every operator that has them.

Both engines refuse them with fixed, open and unknown dims; the checker reports them where the rank is known.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest

import sardonyx as sx
from cases import Case
from conformance.inference import with_variables
from operator_cases import Key, cases_by_version, changed_model, feeds_of
from sardonyx._src.io.serde import to_proto
from sardonyx._src.ir import Attribute, TensorType
from sardonyx._src.ir.attributes import AttributeType
from sardonyx._src.ops.api import RuntimeValue
from sardonyx._src.runtime.session.session import Engine
from sardonyx._src.schema import OpSchema, domains, exact, operators, versions

ENGINES: tuple[Engine, ...] = ("reference", "native")
ATTRIBUTES = ("axis", "axes", "scan_input_axes", "scan_output_axes")
INPUTS = ("axis", "axes")
PER_TENSOR = ("QuantizeLinear", "DequantizeLinear")  # which ignore the axis unless there are several scales
BEYOND = 77


def axis_names(schema: OpSchema) -> list[str]:
    names = [name for name in ATTRIBUTES if name in schema.attributes]
    return names + [parameter.name for parameter in schema.inputs if parameter.name in INPUTS]


def has_axis(case: Case, schema: OpSchema, name: str) -> bool:
    """Whether an axis of a case matters, so that another one is an error."""
    if case.op in PER_TENSOR:
        scale = case.inputs[1]
        return isinstance(scale, np.ndarray) and scale.ndim == 1 and scale.size > 1
    if name in schema.attributes:
        return name in case.attributes or schema.attributes[name].type == "INT"
    i = [parameter.name for parameter in schema.inputs].index(name)
    axes = case.inputs[i] if i < len(case.inputs) else None
    return isinstance(axes, np.ndarray) and axes.size > 0


def subjects() -> dict[tuple[Key, str], Case]:
    """For each operator version and each name of its axes, a case: its own, or that of the version before."""
    result: dict[tuple[Key, str], Case] = {}
    for key, cases in cases_by_version().items():
        for schema, case in cases:
            for name in axis_names(schema):
                if has_axis(case, schema, name):
                    result.setdefault((key, name), case)
    for (domain, operator, version), name in list(result):
        for later in versions(domain, operator):
            key = (domain, operator, later)
            if later > version and (newer := exact(*key)) is not None and name in axis_names(newer):
                result.setdefault(
                    (key, name), replace(result[(domain, operator, version), name], version=later)
                )
    return result


SUBJECTS = subjects()
OPERATORS = sorted({key[:2] for key, _ in SUBJECTS})


def far_model(case: Case, schema: OpSchema, name: str, axis: int) -> tuple[sx.Model, dict[str, RuntimeValue]]:
    """The model of a case with an axis beyond all ranks, and its feeds."""
    feeds = feeds_of(case)
    declared = schema.attributes.get(name)
    if declared is not None and declared.type == "INT":
        return changed_model(case, Attribute(name, AttributeType.INT, axis)), feeds
    if declared is not None:
        numbers = case.attributes[name]
        assert isinstance(numbers, list | tuple), f"{name} of {case} must be a list"
        return changed_model(case, Attribute(name, AttributeType.INTS, (axis, *numbers[1:]))), feeds
    i = [parameter.name for parameter in schema.inputs].index(name)
    axes = np.array(case.inputs[i])
    axes.reshape(-1)[0] = axis
    feeds.pop(f"x{i}")
    return changed_model(case, constants={i: axes}), feeds


@pytest.mark.parametrize(("domain", "operator"), OPERATORS)
def test_an_axis_beyond_the_rank_is_refused(domain: str, operator: str) -> None:
    for (key, name), case in SUBJECTS.items():
        if key[:2] != (domain, operator):
            continue
        schema = exact(*key)
        assert schema is not None
        for axis, form in ((BEYOND, "fixed"), (-BEYOND, "fixed"), (BEYOND, "open"), (-BEYOND, "unknown")):
            model, feeds = far_model(case, schema, name, axis)
            if form == "open":
                with_variables(model, shared=False)
            if form == "unknown":
                forget_ranks(model)
            where = f"{operator}-{key[2]} {name} = {axis}, {form} dims"
            if form != "unknown":
                assert sx.check(to_proto.model(model)).of("error"), f"{where}: the checker reports nothing"
            for engine in ENGINES:
                assert is_refused(model, engine, feeds), f"{where}: {engine} accepts it"


def forget_ranks(model: sx.Model) -> None:
    for value in model.graph.inputs:
        if isinstance(value.type, TensorType):
            value.type = TensorType(value.type.dtype)


def is_refused(model: sx.Model, engine: Engine, feeds: Mapping[str, RuntimeValue]) -> bool:
    for value in model.graph.outputs:
        value.type = None
    try:
        sx.Session(model, engine=engine).run(feeds)
    except sx.SardonyxError:
        return True
    return False


def test_every_operator_version_with_axes_has_a_case() -> None:
    missing = {
        (key, name)
        for domain in domains()
        for operator in operators(domain)
        for version in versions(domain, operator)
        if (schema := exact(*(key := (domain, operator, version)))) is not None and not schema.deprecated
        for name in axis_names(schema)
        if (key, name) not in SUBJECTS
    }
    assert not missing
