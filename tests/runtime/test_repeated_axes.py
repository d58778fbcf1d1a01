"""Axes named twice, and permutations that are none, in every version of every operator that has them.

Both engines refuse them with the same class of error, with fixed, open and unknown dims; the checker reports them where
the rank is known.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest

import sardonyx as sx
from cases import Case
from conformance.inference import with_variables
from operator_cases import Key, cases_by_version, changed_model, error_of, feeds_of
from sardonyx._src.io.serde import to_proto
from sardonyx._src.ir import Attribute, TensorType
from sardonyx._src.ir.attributes import AttributeType
from sardonyx._src.ops.api import RuntimeValue
from sardonyx._src.runtime.session.session import Engine
from sardonyx._src.schema import OpSchema, domains, exact, operators, versions

ENGINES: tuple[Engine, ...] = ("reference", "native")
PERMUTATION, AXES = "perm", "axes"


class Subject(NamedTuple):
    """A case of an operator version with a list of axes, as an attribute or as that operand."""

    case: Case
    name: str
    axes: tuple[int, ...]
    operand: int | None


def subject_of(schema: OpSchema, case: Case) -> Subject | None:
    for name in (AXES, PERMUTATION):
        if name in schema.attributes and name in case.attributes:
            value = case.attributes[name]
            axes = value.value if isinstance(value, Attribute) else value
            if isinstance(axes, list | tuple) and axes:
                return Subject(case, name, tuple(axes), None)
    indices = [i for i, parameter in enumerate(schema.inputs) if parameter.name == AXES]
    if indices and indices[0] < len(case.inputs):
        elements = case.inputs[indices[0]]
        if isinstance(elements, np.ndarray) and elements.ndim == 1 and elements.size:
            return Subject(case, AXES, tuple(elements.tolist()), indices[0])
    return None


def subjects() -> dict[Key, Subject]:
    """For each operator version, the first subject among its cases, or that of the version before."""
    result: dict[Key, Subject] = {}
    for key, cases in cases_by_version().items():
        for schema, case in cases:
            subject = subject_of(schema, case)
            if subject is not None and (subject.name != PERMUTATION or len(subject.axes) > 1):
                result.setdefault(key, subject)
    for (domain, operator, version), subject in list(result.items()):
        for later in versions(domain, operator):
            if later > version:
                case = replace(subject.case, version=later)
                result.setdefault((domain, operator, later), subject._replace(case=case))
    return result


SUBJECTS = subjects()


def wrong_axes(subject: Subject) -> Iterator[tuple[int, ...]]:
    """An axis twice, also by its negative number; for permutations also one that is missing, and one too many."""
    axes, data = subject.axes, subject.case.inputs[0]
    first, rest = axes[0], axes[2:]
    yield (first, first, *rest)
    if subject.name == PERMUTATION:
        yield axes[:-1]
        yield (*axes, first)
        yield tuple(axis + 1 for axis in axes)
    elif isinstance(data, np.ndarray) and subject.case.op != "Unsqueeze":
        yield (first, first - data.ndim if first >= 0 else first + data.ndim, *rest)


def wrong_model(subject: Subject, axes: Sequence[int]) -> tuple[sx.Model, dict[str, RuntimeValue]]:
    feeds = feeds_of(subject.case)
    if subject.operand is None:
        attribute = Attribute(subject.name, AttributeType.INTS, tuple(axes))
        return changed_model(subject.case, attribute), feeds
    feeds.pop(f"x{subject.operand}")
    elements = subject.case.inputs[subject.operand]
    assert isinstance(elements, np.ndarray), "axes are a tensor"
    return changed_model(subject.case, constants={subject.operand: np.array(axes, elements.dtype)}), feeds


@pytest.mark.parametrize("key", SUBJECTS, ids=lambda key: "-".join(map(str, filter(None, key))))
def test_repeated_axes_are_refused_alike(key: Key) -> None:
    subject = SUBJECTS[key]
    for axes in wrong_axes(subject):
        for form in ("fixed", "open", "unknown"):
            errors = {}
            for engine in ENGINES:
                model, feeds = wrong_model(subject, axes)
                if form == "open":
                    with_variables(model, shared=False)
                elif form == "unknown":
                    forget_ranks(model)
                errors[engine] = error_of(model, engine, feeds)
            where = f"{key[1]}-{key[2]} {subject.name} = {axes}, {form} dims: {errors}"
            assert None not in errors.values() and len(set(errors.values())) == 1, where
        model, _ = wrong_model(subject, axes)
        assert sx.check(to_proto.model(model)).of("error"), f"{key} {axes}: the checker reports nothing"


def forget_ranks(model: sx.Model) -> None:
    for value in model.graph.inputs:
        if isinstance(value.type, TensorType):
            value.type = TensorType(value.type.dtype)


def test_every_operator_version_with_lists_of_axes_has_a_case() -> None:
    missing = {
        key
        for domain in domains()
        for operator in operators(domain)
        for version in versions(domain, operator)
        if (schema := exact(*(key := (domain, operator, version)))) is not None and not schema.deprecated
        if schema.attributes.keys() & {AXES, PERMUTATION} or any(p.name == AXES for p in schema.inputs)
        if key not in SUBJECTS
    }
    assert not missing
