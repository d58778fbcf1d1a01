"""Half and single precision where a signature excludes one of them, or the mixture, in every operator version.

The native engine computes half precision in float32, in which such inputs would fit: it refuses them like the reference
engine, and the checker reports them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np
import pytest

import sardonyx as sx
from cases import Case, model_of
from operator_cases import Key, cases_by_version, error_of, feeds_of
from sardonyx._src.io.serde import to_proto
from sardonyx._src.ir import Array
from sardonyx._src.runtime.session.session import Engine
from sardonyx._src.schema import OpSchema

ENGINES: tuple[Engine, ...] = ("reference", "native")
OTHER: Mapping[str, type[np.floating]] = {"float32": np.float16, "float16": np.float32, "float64": np.float32}
WORDS = {"float32": "tensor(float)", "float16": "tensor(float16)"}


def is_excluded(schema: OpSchema, case: Case, index: int, dtype: str) -> bool:
    """Whether the signature allows no such element type at an input, given the types of the others."""
    parameter = schema.input(index)
    assert parameter is not None, f"{schema.name} has no input {index}"
    if WORDS[dtype] not in schema.allowed_types(parameter):
        return True
    return parameter.homogeneous and any(
        other is not None and other.type == parameter.type and case.inputs[i] is not None
        for i in range(len(case.inputs))
        if i != index and (other := schema.input(i)) is not None
    )


def changed_cases() -> Iterator[tuple[Key, str, Case]]:
    """For each input of each operator version, a case in which its element type is another, and not allowed."""
    for key, cases in cases_by_version().items():
        done = set()
        for schema, case in cases:
            for i, x in enumerate(case.inputs):
                parameter = schema.input(i)
                if not isinstance(x, np.ndarray) or parameter is None or str(x.dtype) not in OTHER:
                    continue
                dtype = np.dtype(OTHER[str(x.dtype)])
                subject = (parameter.name, dtype)
                if subject not in done and is_excluded(schema, case, i, str(dtype)):
                    done.add(subject)
                    yield key, f"{parameter.name}-{dtype}", with_input(case, i, x, dtype)


def with_input(case: Case, index: int, x: Array, dtype: np.dtype[np.floating]) -> Case:
    with np.errstate(over="ignore"):
        changed = x.astype(dtype)
    return replace(case, inputs=[*case.inputs[:index], changed, *case.inputs[index + 1 :]])


CHANGED = list(changed_cases())
OPERATORS = sorted({key[:2] for key, _, _ in CHANGED})


@pytest.mark.parametrize(("domain", "operator"), OPERATORS)
def test_an_excluded_precision_is_refused_alike(domain: str, operator: str) -> None:
    for key, what, case in CHANGED:
        if key[:2] != (domain, operator):
            continue
        where = f"{operator}-{key[2]} {what}"
        errors = {engine: error_of(model_of(case), engine, feeds_of(case)) for engine in ENGINES}
        assert None not in errors.values() and len(set(errors.values())) == 1, f"{where}: {errors}"
        assert sx.check(to_proto.model(model_of(case))).of("error"), f"{where}: the checker reports nothing"
