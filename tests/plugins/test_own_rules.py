"""Rules of the checker from outside of the package."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import sardonyx as sx
from models import parse_model, parse_record
from sardonyx._src.check.driver.pages import OWN_PAGES
from sardonyx._src.check.engine.registry import OWN_RULES
from sardonyx.plugins import rule

TEXT = "g (float[2,3] x) => (float[2,3] y) { [first] a = Exp(x) [second] y = Log(a) }"


@pytest.fixture(autouse=True)
def own_rules() -> Iterator[None]:
    """Rules of these tests, which do not outlive them."""

    @rule("ACME001", "fixed-batch", cure="export the model with a symbolic batch size")
    def check_batch(model: sx.Model) -> Iterator[tuple[sx.ir.Value, str]]:
        """The first dim of an input is a number.

        Servers form batches of other sizes.
        """
        for value in model.graph.inputs:
            if (
                isinstance(value.type, sx.ir.TensorType)
                and value.type.shape
                and isinstance(value.type.shape[0], int)
            ):
                yield value, f"the batch of {value.name!r} is fixed to {value.type.shape[0]}"

    @rule("ACME002", "log-of-exp", cure="remove both", severity="error", clause="Acme guide, 3.1")
    def check_log_of_exp(model: sx.Model) -> Iterator[tuple[sx.ir.Node | sx.ir.Value | None, str]]:
        for node in model.graph.nodes:
            source = node.inputs[0].producer if node.inputs and node.inputs[0] is not None else None
            if node.op_type == "Log" and source is not None and source.op_type == "Exp":
                yield node, "Log undoes Exp"
                yield node.outputs[0], "so this value is not needed"

    yield
    OWN_RULES.clear()
    OWN_PAGES.clear()


def test_violations_have_a_place_a_cure_and_a_clause() -> None:
    report = sx.check(parse_model(TEXT))
    own = sorted((d for d in report.diagnostics if d.rule.startswith("ACME")), key=lambda d: d.rule)
    assert [(d.rule, d.name, d.severity) for d in own] == [
        ("ACME001", "fixed-batch", "warning"),
        ("ACME002", "log-of-exp", "error"),
        ("ACME002", "log-of-exp", "error"),
    ]
    assert own[0].message == "the batch of 'x' is fixed to 2"
    assert own[0].help == "export the model with a symbolic batch size"
    assert "input[0]" in own[0].location and "node[1]" in own[1].location and "second" in own[1].location
    assert "output[0]" in own[2].location and own[1].clause == "Acme guide, 3.1"
    assert not report.ok


def test_own_rules_are_selected_and_ignored_like_others() -> None:
    model = parse_model(TEXT)
    assert [d.rule for d in sx.check(model, select=["fixed-batch"]).diagnostics] == ["ACME001"]
    assert [d.rule for d in sx.check(model, select=["ACME"], ignore=["ACME002"]).diagnostics] == ["ACME001"]
    assert sx.check(parse_model(TEXT.replace("[2,3]", "[N,3]")), select=["ACME001"]).diagnostics == ()


def test_a_model_of_unsound_structure_has_no_findings_of_own_rules() -> None:
    record = parse_record("g (float[2,3] x) => (float[2,3] y) { y = Log(nothing) }")
    assert not [d for d in sx.check(record).diagnostics if d.rule.startswith("ACME")]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"code": "SX999"}, "code must be capital letters other than SX"),
        ({"code": "acme1"}, "code must be capital letters other than SX"),
        ({"name": "Fixed batch"}, "name must be words joined by dashes"),
        ({"severity": "fatal"}, "severity must be"),
        ({"cure": 3}, "cure must be"),
    ],
)
def test_wrong_rules_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises((TypeError, sx.InputError), match=message):
        rule(**({"code": "ACME003", "name": "n", "cure": "c"} | arguments))
