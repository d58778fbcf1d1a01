"""Calls of tools in the text of a model, while it is generated: a text becomes the changes of a message."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from typing import Any, Protocol, TypeAlias

from sardonyx._src.generate.text.stop_texts import overlap
from sardonyx._src.serve.openai.tools import Tools

# A change of a message, as the interface streams it: {"content": ...} or {"tool_calls": [...]}.
Delta: TypeAlias = dict[str, Any]
BEGIN, END = "<tool_call>", "</tool_call>"
ID_LETTERS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
ID_LENGTH = 9  # Mistral's templates accept no other


class DeltaReader(Protocol):
    """Reads the text of one result.  calls: the number of calls so far."""

    calls: int

    def add(self, text: str) -> list[Delta]:
        """The changes that are certain with these characters."""

    def end(self) -> list[Delta]:
        """The changes at the end of the text."""


class ContentReader:
    """A text without calls."""

    calls = 0

    def add(self, text: str) -> list[Delta]:
        return [{"content": text}] if text else []

    def end(self) -> list[Delta]:
        return []


class NamedCallReader:
    """A text that is the arguments of one function."""

    def __init__(self, name: str) -> None:
        self.name, self.calls = name, 0

    def add(self, text: str) -> list[Delta]:
        if self.calls:
            return [{"tool_calls": [{"index": 0, "function": {"arguments": text}}]}] if text else []
        self.calls = 1
        return [call_delta(0, self.name, text)]

    def end(self) -> list[Delta]:
        return []


class JsonCallReader:
    """A text that is the JSON of a call or of a list of calls, or else content.

    The text is held back if it begins as JSON does; what is no call of a known function is content in the end.
    """

    def __init__(self, tools: Tools) -> None:
        self.tools, self.calls, self.held, self.is_content = tools, 0, "", False

    def add(self, text: str) -> list[Delta]:
        self.held += text
        begin = self.held.lstrip()[:1]
        self.is_content |= begin not in ("", "{", "[")
        return self._release() if self.is_content else []

    def end(self) -> list[Delta]:
        calls = parse_calls(self.held, self.tools) if not self.is_content else []
        if not calls:
            return self._release()
        calls = calls if self.tools.is_parallel else calls[:1]
        self.calls = len(calls)
        return [call_delta(i, name, arguments) for i, (name, arguments) in enumerate(calls)]

    def _release(self) -> list[Delta]:
        text, self.held = self.held, ""
        return [{"content": text}] if text else []


class TaggedCallReader:
    """A text with calls between tags; what is between tags and is no call of a known function is content."""

    def __init__(self, tools: Tools) -> None:
        self.tools, self.calls, self.held, self.is_call = tools, 0, "", False
        self.space = ""  # after a call, until something else follows

    def add(self, text: str) -> list[Delta]:
        self.held += text
        deltas: list[Delta] = []
        while (place := self.held.find(END if self.is_call else BEGIN)) >= 0:
            before = self.held[:place]
            self.held = self.held[place + len(END if self.is_call else BEGIN) :]
            deltas += self._call(before) if self.is_call else self._content(before)
            self.is_call = not self.is_call
        if not self.is_call:
            certain = len(self.held) - overlap(self.held, BEGIN)
            deltas += self._content(self.held[:certain])
            self.held = self.held[certain:]
        return deltas

    def end(self) -> list[Delta]:
        """A call whose tag the end of the text has cut counts if it is complete."""
        text, self.held = self.held, ""
        return self._call(text, closed=False) if self.is_call else self._content(text)

    def _call(self, text: str, *, closed: bool = True) -> list[Delta]:
        calls = parse_calls(text, self.tools)
        if not calls:
            return self._content(BEGIN + text + (END if closed else ""))
        if self.calls and not self.tools.is_parallel:
            return []
        self.calls, self.space = self.calls + 1, ""
        return [call_delta(self.calls - 1, *calls[0])]

    def _content(self, text: str) -> list[Delta]:
        """Content; the white space between and after calls is none."""
        text, self.space = self.space + text, ""
        if self.calls and not text.strip():
            self.space, text = text, ""
        return [{"content": text}] if text else []


def delta_reader(tools: Tools | None) -> DeltaReader:
    """The reader of a result."""
    if tools is None:
        return ContentReader()
    if tools.is_named:
        return NamedCallReader(tools.choice)
    if tools.choice == "required" or tools.call_format == "json":
        return JsonCallReader(tools)
    return TaggedCallReader(tools) if tools.call_format == "tagged" else ContentReader()


def parse_calls(text: str, tools: Tools) -> list[tuple[str, str]]:
    """Names and arguments of the calls in a JSON text; [] if it is anything else, or a function is unknown."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return []
    calls = []
    for item in value if isinstance(value, list) else [value]:
        name = item.get("name") if isinstance(item, Mapping) else None
        if not isinstance(name, str) or name not in tools.parameters:
            return []
        arguments = item.get("arguments", item.get("parameters", {}))
        if not isinstance(arguments, dict):
            return []
        calls.append((name, json.dumps(arguments, ensure_ascii=False)))
    return calls


def call_delta(index: int, name: str, arguments: str) -> Delta:
    """A call, or its beginning."""
    identity = "".join(secrets.choice(ID_LETTERS) for _ in range(ID_LENGTH))
    function = {"name": name, "arguments": arguments}
    return {"tool_calls": [{"index": index, "id": identity, "type": "function", "function": function}]}


def add_delta(message: dict[str, Any], delta: Delta) -> None:
    """Adds a change to a message."""
    if "content" in delta:
        message["content"] = (message["content"] or "") + delta["content"]
    for call in delta.get("tool_calls", ()):
        calls = message.setdefault("tool_calls", [])
        if call["index"] == len(calls):
            calls.append({name: value for name, value in call.items() if name != "index"})
        else:
            calls[call["index"]]["function"]["arguments"] += call["function"]["arguments"]
