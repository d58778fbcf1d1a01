"""Opaque types without a domain have that of the model (onnx.proto, TypeProto.Opaque)."""

import pytest

import sardonyx as sx
from sardonyx._src.proto.messages import ModelProto
from sardonyx._src.proto.text import from_text
from sardonyx.errors import InferenceError

HEAD = '<ir_version: 14, opset_import: ["": 28, "org.x": 1], domain: "org.example", producer_name: "p", producer_version: "1">'
BRANCHES = """g (opaque(T) q, bool c) => (opaque(T) w) {
  w = If (c) <then_branch = t () => (opaque(T) a) { a = org.x.Make(q) }, else_branch = e () => (DOMAIN b) { b = org.x.Make(q) }> }"""


def codes(text: str) -> list[str]:
    return [d.rule for d in sx.check(from_text(HEAD + text, ModelProto)).diagnostics if d.severity == "error"]


@pytest.mark.parametrize("wrap", ["{}", "seq({})", "optional({})", "map(int64, {})"])
@pytest.mark.parametrize(("domain", "expected"), [("org.example", []), ("org.other", ["SX137"])])
def test_a_declaration_of_one_value_may_leave_the_domain_out(
    wrap: str, domain: str, expected: list[str]
) -> None:
    declared, stated = wrap.format("opaque(T)"), wrap.format(f"opaque({domain}, T)")
    assert codes(f"g ({declared} q) => ({stated} q) {{ }}") == expected
    assert codes(f"g ({stated} q) => ({declared} q) {{ }}") == expected


def test_values_of_both_spellings_are_of_one_type() -> None:
    text = BRANCHES.replace("DOMAIN", "opaque(org.example, T)")
    assert codes(text) == []
    sx.infer(sx.from_text(HEAD + text))


def test_values_of_other_domains_are_not() -> None:
    text = BRANCHES.replace("DOMAIN", "opaque(org.other, T)")
    assert codes(text) == ["SX710"]
    explicit = text.replace("opaque(T)", "opaque(org.example, T)")
    with pytest.raises(InferenceError, match="must be of one type"):
        sx.infer(sx.from_text(HEAD + explicit))


def test_the_text_of_a_model_keeps_what_is_left_out() -> None:
    text = sx.to_text(
        sx.from_text(HEAD + "g (opaque(T) q) => (opaque(org.example, T) w) { w = org.x.Make(q) }")
    )
    assert "opaque(T) q" in text
    assert "opaque(org.example, T) w" in text
