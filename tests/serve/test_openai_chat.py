"""Chat completions: messages, events, tools, structured outputs, logarithms."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from sardonyx._src.serve.rest.application import RestApplication
from sardonyx.generate import Tokenizer
from serve.asgi_client import Response
from serve.language_models import (
    CALL,
    TEMPLATE,
    events_of,
    open_application,
    post,
    write_scripted,
)

ADD = {"a": {"enum": [1, 22]}, "b": {"$ref": "#/$defs/B"}}
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "add",
            "parameters": {
                "type": "object",
                "properties": ADD,
                "$defs": {"B": {"enum": [3]}},
                "required": ["a", "b"],
                "additionalProperties": False,
            },
        },
    },
    {"type": "function", "function": {"name": "now"}},
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    write_scripted(folder / "talk")
    write_scripted(folder / "llama", TEMPLATE.replace("<tool_call>", '"parameters": dictionary'))
    write_scripted(folder / "plain", "{{ messages[0].content }}:")
    return folder


@pytest.fixture(scope="module")
def app(folder: Path) -> RestApplication:
    return open_application(folder)


def chat(app: RestApplication, text: str = "hi", /, **fields: object) -> Response:
    body = {"model": "talk", "messages": [{"role": "user", "content": text}], **fields}
    return post(app, "chat/completions", **body)


def message_of(response: Response) -> Mapping[str, Any]:
    assert response.status == 200, response.body
    message: Mapping[str, Any] = response.json["choices"][0]["message"]
    return message


def test_an_answer_has_the_fields_of_the_interface(app: RestApplication) -> None:
    answer = chat(app).json
    assert answer["object"] == "chat.completion" and answer["model"] == "talk"
    assert answer["id"].startswith("chatcmpl-") and isinstance(answer["created"], int)
    message = {"role": "assistant", "content": "Hello world", "refusal": None}
    assert answer["choices"] == [{"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}]
    # The template writes "user=hi", a line end and ":".
    assert answer["usage"] == {"prompt_tokens": 9, "completion_tokens": 3, "total_tokens": 12}


def test_a_stream_is_the_same_answer_in_events(app: RestApplication) -> None:
    response = chat(app, stream=True, stream_options={"include_usage": True})
    assert response.headers["content-type"] == "text/event-stream; charset=utf-8"
    *chunks, last = events_of(response)
    assert {chunk["object"] for chunk in chunks} == {"chat.completion.chunk"}
    assert [chunk["usage"] for chunk in chunks] == [None] * len(chunks)
    assert last["choices"] == [] and last["usage"]["total_tokens"] == 12
    deltas = [chunk["choices"][0]["delta"] for chunk in chunks]
    assert deltas[0] == {"role": "assistant", "content": "", "refusal": None}
    assert [delta.get("content") for delta in deltas[1:]] == ["Hel", "lo ", "world", None]
    assert [chunk["choices"][0]["finish_reason"] for chunk in chunks] == [None] * 4 + ["stop"]


def test_events_have_no_usage_unless_it_is_requested(app: RestApplication) -> None:
    assert all("usage" not in event and event["choices"] for event in events_of(chat(app, stream=True)))


@pytest.mark.parametrize(
    ("fields", "text", "reason"),
    [
        ({"max_tokens": 2}, "Hello ", "length"),
        ({"max_tokens": 1, "max_completion_tokens": 2}, "Hello ", "length"),
        ({"stop": "wor"}, "Hello ", "stop"),
        ({"stop": ["x", "o w"]}, "Hell", "stop"),
        ({"temperature": 0, "regex": "Hel[a-k]"}, None, "stop"),
    ],
)
def test_what_ends_an_answer(
    app: RestApplication, fields: dict[str, object], text: str | None, reason: str
) -> None:
    choice = chat(app, "hi", **fields).json["choices"][0]
    assert choice["finish_reason"] == reason
    content = choice["message"]["content"]
    assert content == text if text is not None else content[:3] == "Hel" and len(content) == 4


def test_several_answers_have_numbers(app: RestApplication) -> None:
    choices = chat(app, n=3, seed=5).json["choices"]
    assert [choice["index"] for choice in choices] == [0, 1, 2]
    events = events_of(chat(app, n=2, stream=True))
    for number in (0, 1):
        own = [e["choices"][0] for e in events if e["choices"][0]["index"] == number]
        assert "".join(choice["delta"].get("content", "") for choice in own) == "Hello world"


def test_equal_seeds_give_equal_answers(app: RestApplication) -> None:
    """After "x", the tokens of the model are random."""
    fields: dict[str, object] = {"model": "plain", "max_tokens": 20, "logit_bias": {}, "min_tokens": 20}
    texts = [
        message_of(chat(app, "x", **fields, temperature=2, seed=seed, regex="[a-z]{20}"))["content"]
        for seed in (1, 1, -2)
    ]
    assert texts[0] == texts[1] != texts[2]


def test_a_bias_forbids_a_token(app: RestApplication, folder: Path) -> None:
    logprobs = chat(app, logprobs=True, max_tokens=1).json["choices"][0]["logprobs"]["content"]
    assert logprobs[0]["token"] == "Hel"
    token = Tokenizer.open(folder / "talk").token("Hel")
    response = chat(app, logit_bias={str(token): -100}, max_tokens=1, temperature=0)
    assert message_of(response)["content"] not in ("", "Hel")


def test_logarithms_list_tokens_with_their_bytes(app: RestApplication) -> None:
    choice = chat(app, logprobs=True, top_logprobs=2, max_tokens=2).json["choices"][0]
    entries = choice["logprobs"]["content"]
    assert [entry["token"] for entry in entries] == ["Hel", "lo "]
    assert entries[1]["bytes"] == list(b"lo ") and entries[0]["logprob"] == pytest.approx(0, abs=1e-6)
    assert [len(entry["top_logprobs"]) for entry in entries] == [2, 2]
    assert entries[0]["top_logprobs"][0]["token"] == "Hel" and entries[0]["top_logprobs"][1]["logprob"] < -40
    streamed = events_of(chat(app, logprobs=True, max_tokens=2, stream=True))
    logprobs = [e["choices"][0]["logprobs"] for e in streamed if e["choices"][0]["logprobs"]]
    assert [item["content"][0]["token"] for item in logprobs] == ["Hel", "lo "]


# --- tools -------------------------------------------------------------------------------------


def test_calls_are_read_from_the_text(app: RestApplication) -> None:
    choice = chat(app, tools=TOOLS).json["choices"][0]
    assert choice["finish_reason"] == "tool_calls" and choice["message"]["content"] == "I add. "
    (call,) = choice["message"]["tool_calls"]
    assert call["type"] == "function" and len(call["id"]) == 9 and "index" not in call
    assert call["function"]["name"] == "add"
    assert json.loads(call["function"]["arguments"]) == json.loads(CALL)["arguments"]


def test_calls_are_events_of_a_stream(app: RestApplication) -> None:
    deltas = [e["choices"][0]["delta"] for e in events_of(chat(app, tools=TOOLS, stream=True))]
    assert "".join(delta.get("content") or "" for delta in deltas) == "I add. "
    (call,) = [call for delta in deltas for call in delta.get("tool_calls", ())]
    assert call["index"] == 0 and json.loads(call["function"]["arguments"]) == {"a": 1, "b": 2}


def test_without_a_choice_of_tools_the_template_has_none(app: RestApplication) -> None:
    assert message_of(chat(app, tools=TOOLS, tool_choice="none"))["content"] == "Hello world"


def test_what_is_no_call_is_content(app: RestApplication) -> None:
    message = message_of(chat(app, "odd", tools=TOOLS))
    assert message["content"] == "<tool_call>{}</tool_call> was no call" and "tool_calls" not in message


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("choice", ["required", {"type": "function", "function": {"name": "add"}}])
def test_calls_can_be_required(app: RestApplication, choice: object, stream: bool) -> None:
    response = chat(app, tools=TOOLS[:1], tool_choice=choice, temperature=2, seed=3, stream=stream)
    if stream:
        deltas = [e["choices"][0]["delta"] for e in events_of(response)]
        functions = [call["function"] for delta in deltas for call in delta.get("tool_calls", ())]
        name, text = functions[0]["name"], "".join(function["arguments"] for function in functions)
    else:
        message = message_of(response)
        assert message["content"] is None and response.json["choices"][0]["finish_reason"] == "tool_calls"
        (call,) = message["tool_calls"]
        name, text = call["function"]["name"], call["function"]["arguments"]
    arguments = json.loads(text)
    assert name == "add" and arguments["a"] in (1, 22) and arguments["b"] == 3


def test_a_required_call_is_of_one_of_the_functions(app: RestApplication) -> None:
    names = {
        message_of(chat(app, tools=TOOLS, tool_choice="required", temperature=2, seed=seed))["tool_calls"][0][
            "function"
        ]["name"]
        for seed in range(12)
    }
    assert names == {"add", "now"}


def test_answers_of_tools_go_back_to_the_model(app: RestApplication) -> None:
    """The template writes the arguments of the call as JSON, so that they are an object for it."""
    calls = [{"id": "1", "type": "function", "function": {"name": "add", "arguments": '{"a":1}'}}]
    messages = [
        {"role": "developer", "content": "s"},
        {"role": "user", "content": [{"type": "text", "text": "u"}, {"type": "text", "text": "v"}]},
        {"role": "assistant", "tool_calls": calls},
        {"role": "tool", "tool_call_id": "1", "content": "2"},
    ]
    answer = post(app, "chat/completions", model="talk", messages=messages).json
    prompt = 'system=s\nuser=u\nv\nassistant={"a": 1}\ntool=2\n:'
    assert answer["usage"]["prompt_tokens"] == len(prompt)


# --- structured outputs ------------------------------------------------------------------------


def test_an_answer_satisfies_a_schema(app: RestApplication) -> None:
    schema = TOOLS[0]["function"]["parameters"]  # type: ignore[index]
    form = {"type": "json_schema", "json_schema": {"name": "add", "schema": schema, "strict": True}}
    content = message_of(chat(app, response_format=form, temperature=1, seed=2, max_tokens=400))["content"]
    assert json.loads(content)["b"] == 3


def test_an_answer_is_a_json_object(app: RestApplication) -> None:
    answer = chat(app, response_format={"type": "json_object"}, temperature=0, max_tokens=60)
    content = message_of(answer)["content"]
    assert content.startswith("{") and not content[1:].startswith("\n" * 21)


# --- errors ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "param", "message"),
    [
        ({"model": None}, "model", "model must be the name of a model; got none"),
        ({"temperature": 3}, "temperature", "temperature must be a number from 0 to 2; got 3"),
        ({"temperature": "hot"}, "temperature", "temperature must be a number from 0 to 2; got 'hot'"),
        ({"top_p": 0}, "top_p", "top_p must be greater than 0; got 0"),
        ({"max_tokens": 0}, "max_tokens", "max_tokens must be an integer >= 1; got 0"),
        ({"n": 129}, "n", "n must be an integer from 1 to 128; got 129"),
        ({"stop": [""]}, "stop", "stop must be a text or a list of at most 16 texts"),
        ({"logit_bias": {"x": 1}}, "logit_bias", "logit_bias must map numbers of tokens; got 'x'"),
        ({"logit_bias": {"99999": 1}}, "logit_bias", "tokens must be in 0 to "),
        ({"top_logprobs": 2}, "top_logprobs", "top_logprobs require logprobs to be true"),
        ({"stream_options": {}}, "stream_options", "stream_options require stream to be true"),
        (
            {"tempreature": 1},
            "tempreature",
            "there is no parameter 'tempreature'; did you mean 'temperature'?",
        ),
        ({"store": True}, "store", "store must be False for this service; got True"),
        ({"reasoning_effort": "low"}, "reasoning_effort", "reasoning_effort must be absent for this service"),
        ({"messages": []}, "messages", "messages must be a list of at least one message"),
        ({"messages": [{"role": "judge"}]}, "messages[0].role", "messages[0].role must be one of system"),
        ({"messages": [{"role": "user"}]}, "messages[0].content", "messages[0].content must be a text"),
        (
            {"messages": [{"role": "user", "content": [{"type": "image_url"}]}]},
            "messages[0].content[0].type",
            "messages[0].content[0].type must be 'text', since the model reads text alone; got 'image_url'",
        ),
        ({"tool_choice": "auto"}, "tool_choice", "tool_choice requires tools"),
        (
            {"tools": TOOLS, "tool_choice": {"type": "function", "function": {"name": "x"}}},
            "tool_choice",
            "tool_choice must name one of add, now; got 'x'",
        ),
        (
            {"tools": [{"type": "custom"}]},
            "tools[0].type",
            "tools[0].type must be 'function' for this service",
        ),
        ({"tools": TOOLS, "model": "plain"}, "tools", "tools require a chat template that writes them out"),
        ({"tools": TOOLS, "regex": "a"}, "response_format", "exclude each other; got more than one"),
        (
            {"response_format": {"type": "yaml"}},
            "response_format.type",
            "must be text, json_object or json_schema",
        ),
        ({"regex": "("}, "regex", "regex must be a grammar of texts"),
    ],
)
def test_requests_that_are_wrong(
    app: RestApplication, fields: dict[str, object], param: str, message: str
) -> None:
    response = chat(app, "hi", **fields)
    error = response.json["error"]
    assert response.status == 400 and error["type"] == "invalid_request_error"
    assert error["param"] == param and message in error["message"]


def test_a_prompt_that_is_too_long_has_a_code(app: RestApplication) -> None:
    response = chat(app, "x" * 4100)
    error = response.json["error"]
    assert response.status == 400 and error["code"] == "context_length_exceeded"
    assert error["message"] == (
        "messages must have fewer tokens than the context of the model, 4096; got 4107: shorten it"
    )


def test_calls_of_llama_are_json_alone(app: RestApplication) -> None:
    """The scripted text has tags, which are content for a template of another format."""
    message = message_of(chat(app, model="llama", tools=TOOLS))
    assert message["content"].startswith("I add. <tool_call>")
