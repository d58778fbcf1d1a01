"""Tools: the functions that a request lets the model call, and the form of text by which a call can be required."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from sardonyx._src.dataclass import dataclass
from sardonyx._src.generate.choice.settings import SettingsKeywords
from sardonyx._src.generate.text.chat_template import ChatTemplate
from sardonyx._src.serve.openai.failures import UNSUPPORTED, ParameterFailure
from sardonyx._src.serve.openai.fields import Fields

CallFormat: TypeAlias = Literal["tagged", "json", "unknown"]
NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
NO_PARAMETERS = {"type": "object", "properties": {}, "additionalProperties": False}
MAX_TOOLS = 128
# Options of llguidance within a schema: no white space, of which models may write any amount.
COMPACT = {"x-guidance": {"whitespace_flexible": False}}


@dataclass(frozen=True, slots=True)
class Tools:
    """The tools of a request.

    descriptions: as the request states them, for the chat template.
    parameters: the JSON schema of each function's arguments, by name.
    choice: "auto": the model decides; "required": it calls one of them; a name: it calls this one.
    call_format: how the model writes calls where it decides.
    is_parallel: whether an answer may have several calls.
    """

    descriptions: tuple[Mapping[str, Any], ...]
    parameters: Mapping[str, Mapping[str, Any]]
    choice: str
    call_format: CallFormat
    is_parallel: bool = True

    @property
    def is_named(self) -> bool:
        """Whether a certain function is called, so that the whole text is its arguments."""
        return self.choice in self.parameters

    def form(self) -> SettingsKeywords:
        """The setting that makes a text a call; none where the model decides."""
        if self.is_named:
            return {"json_schema": {**self.parameters[self.choice], **COMPACT}}
        return {"grammar": call_grammar(self.parameters)} if self.choice == "required" else {}


def call_grammar(parameters: Mapping[str, Mapping[str, Any]]) -> str:
    """The grammar of one call, `{"name": ..., "arguments": ...}`, in which the schema of each function is a root of its own."""
    lines = ["start: " + " | ".join(f"call{i}" for i in range(len(parameters)))]
    for i, (name, schema) in enumerate(parameters.items()):
        head = json.dumps(f'{{"name": "{name}", "arguments": ')
        lines += [
            f'call{i}: {head} arguments{i} "}}"',
            f"arguments{i}: %json {json.dumps({**schema, **COMPACT})}",
        ]
    return "\n".join(lines)


def read_tools(fields: Fields, template: ChatTemplate) -> Tools | None:
    """The tools that the model may call; None if there are none, or `tool_choice` is none."""
    for name in ("functions", "function_call"):
        fields.refuse_unless(name)
    described = fields.children("tools")
    if len(described) > MAX_TOOLS:
        raise ParameterFailure("tools", f"tools must be at most {MAX_TOOLS}; got {len(described)}")
    parameters = dict(read_function(tool) for tool in described)
    is_parallel = fields.flag("parallel_tool_calls")
    choice = read_choice(fields, parameters)
    if choice == "none":
        return None
    if not template.writes_tools:
        why = "tools require a chat template that writes them out; that of the model has no `tools`"
        raise ParameterFailure("tools", why, code=UNSUPPORTED)
    return Tools(
        tuple(tool.values for tool in described),
        parameters,
        choice,
        call_format(template.source),
        is_parallel is not False,
    )


def read_function(tool: Fields) -> tuple[str, Mapping[str, Any]]:
    """The name of a function, and the schema of its arguments."""
    tool.refuse_unless("type", "function")
    function = tool.child("function")
    if function is None:
        raise tool.failure("function", "an object with a name")
    function.refuse_others({"name", "description", "parameters", "strict"})
    name = function.text("name") or ""
    if not NAME.fullmatch(name):
        raise function.failure("name", "1 to 64 letters, digits, _ and -")
    parameters = function.child("parameters")
    return name, NO_PARAMETERS if parameters is None else parameters.values


def read_choice(fields: Fields, parameters: Mapping[str, object]) -> str:
    choice = fields.get("tool_choice")
    if choice is None:
        return "auto" if parameters else "none"
    if choice == "none":
        return "none"
    if not parameters:
        raise ParameterFailure("tool_choice", "tool_choice requires tools")
    if choice in ("auto", "required"):
        return str(choice)
    if isinstance(choice, str):
        raise fields.failure("tool_choice", "none, auto, required or an object that names a function")
    named = fields.child("tool_choice")
    assert named is not None, "it is neither absent nor a text"
    named.refuse_unless("type", "function")
    function = named.child("function")
    name = function.text("name") if function is not None else None
    if name is None or name not in parameters:
        raise ParameterFailure(
            "tool_choice", f"tool_choice must name one of {', '.join(parameters)}; got {name!r:.100}"
        )
    return name


def call_format(template: str) -> CallFormat:
    """How models with this chat template write calls.

    "tagged": `<tool_call>{"name": ..., "arguments": {...}}</tool_call>` (Hermes, Qwen 2 to 3).
    "json": the whole text is `{"name": ..., "parameters": {...}}` (Llama 3) or a list of `{"name": ..., "arguments": {...}}`
        (Mistral).
    """
    if "<tool_call>" in template and "<function=" not in template:
        return "tagged"
    is_mistral = "[TOOL_CALLS]" in template and "[ARGS]" not in template
    return "json" if is_mistral or '"parameters": dictionary' in template else "unknown"
