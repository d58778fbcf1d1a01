"""Requests for chat completions."""

from __future__ import annotations

from sardonyx._src.dataclass import dataclass
from sardonyx._src.generate.choice.settings import SettingsKeywords
from sardonyx._src.generate.generator import Generator
from sardonyx._src.serve.openai.failures import UNSUPPORTED, ParameterFailure
from sardonyx._src.serve.openai.fields import Fields
from sardonyx._src.serve.openai.messages import read_messages
from sardonyx._src.serve.openai.sampling import (
    SAMPLING,
    STREAMING,
    WITHOUT_EFFECT,
    check_room,
    read_settings,
    read_streaming,
)
from sardonyx._src.serve.openai.tools import Tools, read_tools

MAX_TOP_LOGPROBS = 20
# An option of llguidance within a schema: without it, a model may write white space until the last token.
FEW_SPACES = {"x-guidance": {"whitespace_pattern": r"[ \n]{0,20}"}}
FORM_NAMES = ("regex", "grammar")  # of this service, beyond the interface
KNOWN = {
    *SAMPLING,
    *STREAMING,
    *WITHOUT_EFFECT,
    *FORM_NAMES,
    *("messages", "max_tokens", "max_completion_tokens", "logprobs", "top_logprobs", "response_format"),
    *("tools", "tool_choice", "parallel_tool_calls", "functions", "function_call"),
    *("audio", "modalities", "reasoning_effort", "service_tier", "store", "verbosity", "web_search_options"),
}
# Fields of which this service supports certain values.
SUPPORTED: dict[str, tuple[object, ...]] = {
    "audio": (),
    "modalities": (["text"],),
    "reasoning_effort": (),
    "service_tier": ("auto", "default"),
    "store": (False,),
    "verbosity": (),
    "web_search_options": (),
}


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """A request for the next message of a conversation.

    prompt: its tokens.
    settings: of the generation.
    is_stream, include_usage: whether events are sent, and whether the last one has the usage.
    tools: what the model may call; None for nothing.
    """

    prompt: list[int]
    settings: SettingsKeywords
    is_stream: bool
    include_usage: bool
    tools: Tools | None

    @property
    def has_logprobs(self) -> bool:
        return self.settings.get("logprobs") is not None


def read_chat(fields: Fields, generator: Generator, max_tokens: int) -> ChatRequest:
    """The request with these fields.  max_tokens: of a message that the request does not limit.

    Raises ParameterFailure, and InputError for messages that the chat template refuses."""
    fields.refuse_others(KNOWN)
    for name, values in SUPPORTED.items():
        fields.refuse_unless(name, *values)
    template, tokenizer = generator.chat_template, generator.tokenizer
    if template is None or tokenizer is None:
        why = (
            "the model has no chat template, or no tokenizer: use /v1/completions, or put one into its folder"
        )
        raise ParameterFailure("model", why, code=UNSUPPORTED)
    tools = read_tools(fields, template)
    settings = read_settings(fields, generator) | read_form(fields, tools)
    settings["max_tokens"] = read_max_tokens(fields) or max_tokens
    if (logprobs := read_logprobs(fields)) is not None:
        settings["logprobs"] = logprobs
    is_stream, include_usage = read_streaming(fields)
    described = None if tools is None else tools.descriptions
    text = template.prompt(read_messages(fields), tools=described)
    prompt = tokenizer.encode(text, with_special=False)
    check_room(prompt, generator, "messages")
    return ChatRequest(prompt, settings, is_stream, include_usage, tools)


def read_max_tokens(fields: Fields) -> int | None:
    """The newer name, else the deprecated one."""
    newer, older = fields.integer("max_completion_tokens", 1), fields.integer("max_tokens", 1)
    return older if newer is None else newer


def read_logprobs(fields: Fields) -> int | None:
    """How many of the most probable tokens are listed at each place; None: no logarithms."""
    top = fields.integer("top_logprobs", 0, MAX_TOP_LOGPROBS)
    if fields.flag("logprobs"):
        return top or 0
    if top is not None:
        raise ParameterFailure("top_logprobs", "top_logprobs require logprobs to be true")
    return None


def read_form(fields: Fields, tools: Tools | None) -> SettingsKeywords:
    """What texts must be like."""
    forms = [form for form in (read_response_format(fields), *read_extensions(fields)) if form]
    if not forms:
        return tools.form() if tools is not None else {}
    if len(forms) > 1 or tools is not None:
        why = "response_format, regex, grammar and tools that may be called exclude each other; got more than one"
        raise ParameterFailure("response_format", why, code=UNSUPPORTED)
    return forms[0]


def read_extensions(fields: Fields) -> list[SettingsKeywords]:
    regex, grammar = fields.text("regex"), fields.text("grammar")
    return [
        {} if regex is None else {"regex": regex},
        {} if grammar is None else {"grammar": grammar},
    ]


def read_response_format(fields: Fields) -> SettingsKeywords:
    """The setting of `response_format`; none for text."""
    form = fields.child("response_format")
    match form.get("type") if form is not None else "text":
        case "text":
            return {}
        case "json_object":
            return {"json_schema": {"type": "object", **FEW_SPACES}}
        case "json_schema":
            assert form is not None, "it has a type"
            stated = form.child("json_schema")
            schema = stated.child("schema") if stated is not None else None
            if schema is None:
                raise form.failure("json_schema", "an object with name and schema")
            return {"json_schema": {**FEW_SPACES, **schema.values}}
    assert form is not None, "the type is not the default"
    raise form.failure("type", "text, json_object or json_schema")
