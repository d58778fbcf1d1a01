"""Nodes that a step keeps: one node of a signature is converted in full, and invalid ones are still refused."""

from __future__ import annotations

import pytest

from models import parse_model
from sardonyx._src.convert.conversion import convert
from sardonyx._src.convert.converter import Converter
from sardonyx._src.convert.kept_nodes import keeps_meaning
from sardonyx._src.convert.steps import VersionStep
from sardonyx._src.errors import ConversionError
from sardonyx._src.ir import Node


def chain(count: int) -> str:
    nodes = "".join(f" t{i + 1} = Relu(t{i})" for i in range(count))
    return f"g (float[N] t0) => (float[N] t{count}) {{{nodes} }}"


def converted_nodes(text: str, monkeypatch: pytest.MonkeyPatch) -> int:
    """The number of nodes that are converted in full."""
    calls = 0
    original = Converter.convert

    def counting(self: Converter, node: Node, current: int, following: int) -> list[Node]:
        nonlocal calls
        calls += 1
        return original(self, node, current, following)

    with monkeypatch.context() as patch:
        patch.setattr(Converter, "convert", counting)
        convert(parse_model(text, opset=6), 28)
    return calls


def test_one_node_of_a_signature_is_converted_in_full(monkeypatch: pytest.MonkeyPatch) -> None:
    # Relu changes in versions 13 and 14.
    assert converted_nodes(chain(1), monkeypatch) == 2
    assert converted_nodes(chain(50), monkeypatch) == 2


def test_nodes_of_other_element_types_are_converted_on_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    text = """g (float[2] a, double[2] b) => (float[2] c, double[2] d) { c = Relu(a)  d = Relu(b) }"""
    assert converted_nodes(text, monkeypatch) == 4


def test_a_node_whose_type_the_older_version_lacks_is_refused() -> None:
    text = "g (float[2] a, bfloat16[2] b) => (float[2] c, bfloat16[2] d) { c = Relu(a)  d = Relu(b) }"
    with pytest.raises(ConversionError, match="bfloat16"):
        convert(parse_model(text, opset=13), 12)


def test_a_node_that_inference_rejects_is_refused_after_one_that_it_accepts() -> None:
    text = """g (float[2] a, float[2] b, float[3] c) => (float[2] d, float[N] e) {
      d = Add(a, b)  e = Add(a, c)
    }"""
    with pytest.raises(ConversionError, match=r"node\[1\]"):
        convert(parse_model(text, opset=13), 14)


@pytest.mark.parametrize(
    ("name", "old", "new", "expected"),
    [
        ("Relu", 13, 14, True),
        ("Constant", 12, 13, True),
        ("Cast", 19, 21, True),  # a facet that keeps every node
        ("Softmax", 11, 13, False),  # a facet
        ("Softmax", 1, 11, False),  # another rule for the axis
        ("DequantizeLinear", 10, 13, False),  # version 10 rejects scales of several elements
        ("DequantizeLinear", 13, 19, True),
        ("Dropout", 12, 13, False),  # its inference reads the version
    ],
)
def test_steps_that_keep_the_meaning(name: str, old: int, new: int, expected: bool) -> None:
    assert keeps_meaning(VersionStep("", name, old, new)) is expected
