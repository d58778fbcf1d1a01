"""Nodes of operators that callers register are checked against the signatures that these bring."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from check.examples import model
from sardonyx._src.check import check
from sardonyx._src.ops.api import OPERATORS, Operator
from sardonyx._src.schema import AttributeSchema, OpSchema, Parameter

DOMAIN = "com.example.registered"
SIGNATURES = tuple(
    OpSchema(
        DOMAIN,
        "Blend",
        version,
        inputs=(Parameter("a", "T"), Parameter("b", "T"), Parameter("mask", "T", "optional"))[:count],
        outputs=(Parameter("y", "T"),),
        attributes={"alpha": AttributeSchema("alpha", "FLOAT", required=True)},
        type_constraints={"T": ("tensor(float)",)},
        min_inputs=2,
        max_inputs=count,
        min_outputs=1,
        max_outputs=1,
    )
    for version, count in ((1, 2), (3, 3))
)


@pytest.fixture(autouse=True)
def blend() -> Iterator[None]:
    Operator("Blend", DOMAIN, schema=SIGNATURES)
    yield
    del OPERATORS[DOMAIN, "Blend"]


def errors(node: str, version: int = 3) -> list[str]:
    header = f'<opset_import: ["": 21, "{DOMAIN}": {version}]>'
    body = node.replace("Blend", f"{DOMAIN}.Blend")
    record = model(f"{header} g (float[2] x) => (float[2] y) {{ {body} }}")
    return [f"{d.rule} {d.message}" for d in check(record).of("error")]


def test_a_call_that_fits_is_accepted() -> None:
    assert errors("y = Blend <alpha = 0.5> (x, x)") == []
    assert errors("y = Blend <alpha = 0.5> (x, x, x)") == []


def test_inputs_are_counted() -> None:
    assert errors("y = Blend <alpha = 0.5> (x)") == ["SX204 Blend-3 requires input 1, b"]
    assert errors("y = Blend <alpha = 0.5> (x, x, x, x)") == [
        "SX203 Blend-3 must have at most 3 inputs; got 4"
    ]


def test_outputs_are_counted() -> None:
    assert errors("y, z = Blend <alpha = 0.5> (x, x)") == ["SX205 Blend-3 must have at most 1 outputs; got 2"]


def test_the_imported_version_counts() -> None:
    assert errors("y = Blend <alpha = 0.5> (x, x, x)", version=2) == [
        "SX203 Blend-1 must have at most 2 inputs; got 3"
    ]


def test_attributes_are_compared() -> None:
    assert [e.partition(" ")[0] for e in errors("y = Blend(x, x)")] == ["SX210"]
    assert [e.partition(" ")[0] for e in errors("y = Blend <alpha = 0.5, beta = 1.0> (x, x)")] == ["SX211"]
    assert [e.partition(" ")[0] for e in errors("y = Blend <alpha = 1> (x, x)")] == ["SX212"]
