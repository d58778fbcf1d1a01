"""The messages of a conversation, as chat templates take them."""

from __future__ import annotations

import json
from typing import Any

from sardonyx._src.serve.openai.failures import UNSUPPORTED, ParameterFailure
from sardonyx._src.serve.openai.fields import Fields

# The roles of the interface, with those of chat templates: `developer` has taken the place of `system`.
ROLES = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
}
MESSAGE_FIELDS = {
    "role",
    "content",
    "name",
    "tool_calls",
    "tool_call_id",
    "refusal",
    "audio",
    "function_call",
}


def read_messages(fields: Fields) -> list[dict[str, Any]]:
    """The messages of a request; raises ParameterFailure for those that a model of text cannot read."""
    messages = [read_message(message) for message in fields.children("messages")]
    if not messages:
        raise fields.failure("messages", "a list of at least one message")
    return messages


def read_message(fields: Fields) -> dict[str, Any]:
    fields.refuse_others(MESSAGE_FIELDS)
    for field in ("audio", "function_call"):
        fields.refuse_unless(field)
    role = fields.text("role")
    if role not in ROLES:
        raise fields.failure("role", f"one of {', '.join(ROLES)}")
    message: dict[str, Any] = {"role": ROLES[role], "content": read_content(fields)}
    if (name := fields.text("name")) is not None:
        message["name"] = name
    if role == "tool":
        message["tool_call_id"] = fields.text("tool_call_id")
        if message["tool_call_id"] is None:
            raise fields.failure("tool_call_id", "the id of the call that the message answers")
    calls = fields.children("tool_calls")
    if calls:
        if role != "assistant":
            raise fields.failure("tool_calls", "absent, since only an assistant calls tools")
        message["tool_calls"] = [read_call(call) for call in calls]
    elif fields.get("content") is None and fields.get("refusal") is None:
        raise fields.failure("content", "a text or a list of parts")
    return message


def read_content(fields: Fields) -> str:
    """The text of a message; its parts are joined by line ends."""
    content = fields.get("content")
    if content is None:
        return fields.text("refusal") or ""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        raise fields.failure("content", "a text or a list of parts")
    return "\n".join(read_part(part) for part in fields.children("content"))


def read_part(part: Fields) -> str:
    kind = part.text("type")
    name = "refusal" if kind == "refusal" else "text"
    if kind not in ("text", "refusal"):
        param = part.path + "type"
        raise ParameterFailure(
            param, f"{param} must be 'text', since the model reads text alone; got {kind!r}", code=UNSUPPORTED
        )
    text = part.text(name)
    if text is None:
        raise part.failure(name, "a text")
    return text


def read_call(call: Fields) -> dict[str, Any]:
    """A call of an earlier answer; its arguments are an object, as templates take them."""
    call.refuse_unless("type", "function")
    function = call.child("function")
    name = function.text("name") if function is not None else None
    if function is None or name is None:
        raise call.failure("function", "an object with name and arguments")
    try:
        arguments = json.loads(function.text("arguments") or "{}")
    except ValueError:
        arguments = None
    if not isinstance(arguments, dict):
        raise function.failure("arguments", "the text of a JSON object")
    return {
        "id": call.text("id"),
        "type": "function",
        "function": {"name": name, "arguments": arguments},
    }
