"""Calls of tools in growing texts, in every format, however the text is cut."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sardonyx._src.serve.openai.tool_calls import add_delta, delta_reader
from sardonyx._src.serve.openai.tools import CallFormat, Tools, call_format

ONE = '{"name": "add", "arguments": {"a": "</tool_cal", "b": "\u00fc"}}'
TWO = '{"name": "now", "arguments": {}}'


def tools(form: CallFormat, *, choice: str = "auto", is_parallel: bool = True) -> Tools:
    return Tools((), {"add": {}, "now": {}}, choice, form, is_parallel)


def read(text: str, given: Tools | None, size: int) -> dict[str, Any]:
    """The message of a text that comes in pieces of `size` characters."""
    reader, message = delta_reader(given), {"content": None}
    deltas = [delta for i in range(0, len(text), size) for delta in reader.add(text[i : i + size])]
    for delta in [*deltas, *reader.end()]:
        add_delta(message, delta)
    assert reader.calls == len(message.get("tool_calls") or ())
    return message


def calls_of(message: dict[str, Any]) -> list[tuple[str, Any]]:
    functions = [call["function"] for call in message.get("tool_calls", ())]
    return [(function["name"], json.loads(function["arguments"])) for function in functions]


EXPECTED_ONE: tuple[str, Any] = ("add", {"a": "</tool_cal", "b": "\u00fc"})
EXPECTED_TWO: tuple[str, Any] = ("now", {})


@pytest.mark.parametrize("size", [1, 3, 1000])
@pytest.mark.parametrize(
    ("form", "text", "content", "calls"),
    [
        ("tagged", "a < b <tool", "a < b <tool", []),
        ("tagged", f"I add.\n<tool_call>\n{ONE}\n</tool_call>", "I add.\n", [EXPECTED_ONE]),
        (
            "tagged",
            f"<tool_call>{ONE}</tool_call>\n<tool_call>{TWO}</tool_call>",
            None,
            [EXPECTED_ONE, EXPECTED_TWO],
        ),
        ("tagged", f"<tool_call>{TWO}", None, [EXPECTED_TWO]),
        ("tagged", f"<tool_call>{TWO}</tool_call> done", " done", [EXPECTED_TWO]),
        ("tagged", '<tool_call>{"name": "rm"}</tool_call>', '<tool_call>{"name": "rm"}</tool_call>', []),
        ("tagged", "<tool_call>{", "<tool_call>{", []),
        ("json", "2 + 2 = {4}", "2 + 2 = {4}", []),
        ("json", f"\n{ONE}", None, [EXPECTED_ONE]),
        ("json", f"[{ONE}, {TWO}]", None, [EXPECTED_ONE, EXPECTED_TWO]),
        ("json", '{"name": "now", "parameters": {"x": 1}}', None, [("now", {"x": 1})]),
        ("json", '{"name": "rm", "parameters": {}}', '{"name": "rm", "parameters": {}}', []),
        ("json", '{"name": "now", "parameters": 3}', '{"name": "now", "parameters": 3}', []),
        ("json", '{"name": ["now"]}', '{"name": ["now"]}', []),
        ("unknown", f"<tool_call>{ONE}</tool_call>", f"<tool_call>{ONE}</tool_call>", []),
    ],
)
def test_formats(form: CallFormat, text: str, content: str | None, calls: list[object], size: int) -> None:
    message = read(text, tools(form), size)
    assert message["content"] == content and calls_of(message) == calls


@pytest.mark.parametrize("size", [1, 1000])
def test_at_most_one_call_unless_they_are_parallel(size: int) -> None:
    text = f"<tool_call>{ONE}</tool_call><tool_call>{TWO}</tool_call>"
    assert calls_of(read(text, tools("tagged", is_parallel=False), size)) == [EXPECTED_ONE]
    assert calls_of(read(f"[{ONE}, {TWO}]", tools("json", is_parallel=False), size)) == [EXPECTED_ONE]


@pytest.mark.parametrize("size", [1, 1000])
def test_the_text_of_a_named_call_is_its_arguments(size: int) -> None:
    message = read('{"a": 1}', tools("unknown", choice="add"), size)
    assert message["content"] is None and calls_of(message) == [("add", {"a": 1})]


def test_a_required_call_that_is_cut_is_content() -> None:
    assert read('{"name": "add", "argu', tools("tagged", choice="required"), 4) == {
        "content": '{"name": "add", "argu'
    }


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("... within <tool_call></tool_call> XML tags ...", "tagged"),
        ("<tool_call>\n<function=name>", "unknown"),
        ('Respond in the format {"name": function name, "parameters": dictionary of argument name}', "json"),
        ("{{ '[TOOL_CALLS][' }}", "json"),
        ("{{ '[TOOL_CALLS]' + name + '[ARGS]' }}", "unknown"),
        ("{{ tools }}", "unknown"),
    ],
)
def test_templates_tell_the_format(template: str, expected: str) -> None:
    assert call_format(template) == expected
