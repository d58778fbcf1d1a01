"""Branches of If that contradict their operators: a run may never take them."""

import pytest

import sardonyx as sx
from models import parse_record
from sardonyx.errors import InferenceError

CONSTANTS = "<int64[1] i = {5}, bool yes = {1}, bool no = {0}, float[2] two = {1, 2}>"
FUNCTION = """<domain: "l", opset_import: ["": 21]> F (a) => (b) {
  z = Constant<value_floats = [1.0, 2.0]>()  b = Add(a, z) }"""
INNER = """q = If (c) <then_branch = t2 () => (float[A,3] q2) { q2 = Softmax<axis = 4>(x) },
  else_branch = e2 () => (float[2,3] r2) { r2 = Abs(x) }>"""
CONTRADICTIONS = {
    "SX700": "q = Gather(x, i)",
    "SX701": "s = Neg(x)  q = Identity(s)",
    "SX706": "q = MatMul(x, two)",
    "SX707": "q = Add(x, two)",
    "SX708": "q = Softmax<axis = 4>(x)",
    "SX709": "q = Reshape(x, i)",
}


def branch(body: str, condition: str = "c") -> str:
    return f"""g (float[2,3] x, bool c) => (float[A,3] y) {CONSTANTS} {{
      y = If ({condition}) <then_branch = t () => (float[B,3] q) <float[7] s> {{ {body} }},
                          else_branch = e () => (float[2,3] r) {{ r = Neg(x) }}> }} {FUNCTION}"""


def findings(text: str) -> list[tuple[str, str]]:
    diagnostics = sx.check(parse_record(text, more='"l": 1')).diagnostics
    return [(d.rule, d.severity) for d in diagnostics if d.rule.startswith("SX7")]


def infer(text: str) -> str:
    return str(sx.infer(parse_record(text, more='"l": 1')).graph.outputs[0].type)


@pytest.mark.parametrize(("code", "body"), CONTRADICTIONS.items(), ids=CONTRADICTIONS)
def test_a_contradiction_in_a_branch_is_a_warning(code: str, body: str) -> None:
    assert (code, "warning") in findings(branch(body))
    assert {severity for _, severity in findings(branch(body))} == {"warning"}
    assert infer(branch(body)).endswith(",3]")


@pytest.mark.parametrize("body", ["q = l.F(x)", INNER], ids=["in a function", "in an inner branch"])
def test_what_a_branch_leads_to_may_be_passed_by_as_well(body: str) -> None:
    assert {severity for _, severity in findings(branch(body))} == {"warning"}
    infer(branch(body))


@pytest.mark.parametrize(("code", "body"), CONTRADICTIONS.items(), ids=CONTRADICTIONS)
def test_a_branch_that_is_taken_for_certain_has_errors(code: str, body: str) -> None:
    assert (code, "error") in findings(branch(body, "yes"))
    assert findings(branch(body, "no")) == []
    with pytest.raises(InferenceError):
        infer(branch(body, "yes"))
    assert infer(branch(body, "no")) == "float[2,3]"


def test_element_types_are_errors_in_every_branch() -> None:
    assert findings(branch("q = Add(x, i)")) == [("SX704", "error")]
    with pytest.raises(InferenceError, match="must have the type of 'A'"):
        infer(branch("q = Add(x, i)"))


def test_a_function_that_is_called_outside_of_branches_too_has_errors() -> None:
    text = branch("q = l.F(x)").replace("y = If", "z = l.F(x)  y = If")
    assert findings(text) == [("SX707", "error")]
    text = branch("q = l.F(x)").replace("}> }", "}>  z = l.F(x) }")
    assert findings(text) == [("SX707", "error")]
    with pytest.raises(InferenceError):
        infer(text)


def test_sizes_that_no_run_reconciles_are_a_warning_in_a_branch() -> None:
    text = """g (float[2] z, bool c) => (float[?] y, float[N] w) { w = Abs(z)
      y = If (c) <then_branch = t () => (float[N] q) { q = Concat<axis = 0>(z, z, z) },
                  else_branch = e () => (float[?] r) { r = Neg(z) }> }"""
    assert findings(text) == [("SX702", "warning")]
