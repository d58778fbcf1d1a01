"""`sardonyx serve` with OpenAI's client: synchronous and asynchronous, streams, tools, structured outputs, embeddings, errors."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator

import numpy as np
import openai
import pytest
from openai import AsyncOpenAI, OpenAI
from pydantic import BaseModel

from serve.language_models import write_encoder, write_scripted

MESSAGES = [{"role": "user", "content": "hi"}]
FOREVER = [{"role": "user", "content": "chapter"}]


class Add(BaseModel):  # type: ignore[misc]  # it has no types here
    """Adds two numbers."""

    a: bool
    b: bool


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    models = tmp_path_factory.mktemp("models")
    write_scripted(models / "talk")
    write_encoder(models / "embed")
    token = models.parent / "token"
    token.write_text("secret\n")
    command = [sys.executable, "-m", "sardonyx", "serve", str(models), "--port", "0", "--log", "json"]
    with subprocess.Popen(
        [*command, "--token-file", str(token)], stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        port = 0
        for line in process.stderr:
            message = json.loads(line)["message"]
            if message.startswith("listening"):
                port = int(message.rpartition(":")[2])
            if message == "ready":
                break
        yield f"http://127.0.0.1:{port}"
        process.terminate()
        assert process.wait(30) == 0


@pytest.fixture
def client(address: str) -> Iterator[OpenAI]:
    with OpenAI(base_url=f"{address}/v1", api_key="secret", max_retries=0) as client:
        yield client


def metric(address: str, name: str) -> float:
    request = urllib.request.Request(f"{address}/metrics", headers={"Authorization": "Bearer secret"})
    lines = urllib.request.urlopen(request).read().decode().splitlines()
    return next(float(line.split()[-1]) for line in lines if line.startswith(f'{name}{{model="talk"'))


def test_models(client: OpenAI) -> None:
    assert [model.id for model in client.models.list()] == ["embed", "talk"]
    assert client.models.retrieve("talk").owned_by == "sardonyx"


def test_messages(client: OpenAI) -> None:
    answer = client.chat.completions.create(
        model="talk", messages=MESSAGES, n=2, seed=1, logprobs=True, top_logprobs=1
    )
    assert [choice.message.content for choice in answer.choices] == ["Hello world"] * 2
    assert answer.choices[0].finish_reason == "stop" and answer.usage.completion_tokens == 6
    assert [entry.token for entry in answer.choices[1].logprobs.content] == ["Hel", "lo ", "world"]


def test_streams(client: OpenAI) -> None:
    stream = client.chat.completions.create(
        model="talk", messages=MESSAGES, stream=True, stream_options={"include_usage": True}
    )
    *chunks, last = stream
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == "Hello world"
    assert chunks[-1].choices[0].finish_reason == "stop" and last.usage.total_tokens == 12


def test_accumulated_streams(client: OpenAI) -> None:
    with client.chat.completions.stream(model="talk", messages=MESSAGES) as stream:
        for _ in stream:
            pass
        assert stream.get_final_completion().choices[0].message.content == "Hello world"


def test_completions(client: OpenAI) -> None:
    answer = client.completions.create(model="talk", prompt=["a:", "b:"], logprobs=1, max_tokens=2)
    assert [choice.text for choice in answer.choices] == ["Hello ", "Hello "]
    assert answer.choices[0].logprobs.tokens == ["Hel", "lo "] and answer.choices[0].finish_reason == "length"
    stream = client.completions.create(model="talk", prompt="a:", stream=True)
    assert "".join(chunk.choices[0].text for chunk in stream) == "Hello world"


def test_tools(client: OpenAI) -> None:
    tools = [openai.pydantic_function_tool(Add, name="add")]
    message = client.chat.completions.create(model="talk", messages=MESSAGES, tools=tools).choices[0].message
    (call,) = message.tool_calls
    assert call.function.name == "add" and json.loads(call.function.arguments) == {"a": 1, "b": 2}
    answer = {"role": "tool", "tool_call_id": call.id, "content": "3"}
    again = client.chat.completions.create(
        model="talk", messages=[*MESSAGES, message.model_dump(exclude_none=True), answer]
    )
    assert again.choices[0].message.content == "Hello world"


@pytest.mark.parametrize("choice", ["required", {"type": "function", "function": {"name": "add"}}])
def test_required_tools(client: OpenAI, choice: object) -> None:
    """The schema of the function holds, whatever the model would write; arguments arrive as an object of the class."""
    tools = [openai.pydantic_function_tool(Add, name="add")]
    answer = client.chat.completions.parse(
        model="talk", messages=MESSAGES, tools=tools, tool_choice=choice, seed=3
    )
    (call,) = answer.choices[0].message.tool_calls
    assert isinstance(call.function.parsed_arguments, Add)
    with client.chat.completions.stream(
        model="talk", messages=MESSAGES, tools=tools, tool_choice=choice, seed=3
    ) as stream:
        for _ in stream:
            pass
        streamed = stream.get_final_completion().choices[0].message.tool_calls[0]
    assert streamed.function.arguments == call.function.arguments


def test_structured_outputs(client: OpenAI) -> None:
    for seed in range(20):
        answer = client.chat.completions.parse(
            model="talk", messages=MESSAGES, response_format=Add, seed=seed, max_completion_tokens=400
        )
        assert isinstance(answer.choices[0].message.parsed, Add)


def test_embeddings(client: OpenAI) -> None:
    """The client requests base64 unless it is told otherwise."""
    answer = client.embeddings.create(model="embed", input=["w1 w2", "w3"])
    numbers = client.embeddings.create(model="embed", input=["w1 w2", "w3"], encoding_format="float")
    assert answer.usage.prompt_tokens == 3
    for a, b in zip(answer.data, numbers.data, strict=True):
        assert len(a.embedding) == 4
        np.testing.assert_allclose(a.embedding, b.embedding, rtol=1e-6)


def test_errors(client: OpenAI) -> None:
    with pytest.raises(openai.NotFoundError) as missing:
        client.chat.completions.create(model="tolk", messages=MESSAGES)
    assert missing.value.code == "model_not_found" and missing.value.param == "model"
    with pytest.raises(openai.BadRequestError) as wrong:
        client.chat.completions.create(model="talk", messages=MESSAGES, temperature=3)
    assert wrong.value.param == "temperature" and wrong.value.type == "invalid_request_error"
    with pytest.raises(openai.BadRequestError) as long:
        client.completions.create(model="talk", prompt="x" * 5000)
    assert long.value.code == "context_length_exceeded"
    stranger = client.with_options(api_key="none")
    with pytest.raises(openai.AuthenticationError):
        stranger.models.list()
    with pytest.raises(openai.LengthFinishReasonError):
        client.chat.completions.parse(
            model="talk", messages=MESSAGES, response_format=Add, max_completion_tokens=1
        )


def test_a_client_that_leaves(client: OpenAI, address: str) -> None:
    before = metric(address, "sardonyx_generated_tokens_total")
    stream = client.chat.completions.create(
        model="talk", messages=FOREVER, stream=True, max_completion_tokens=4000
    )
    for _, chunk in zip(range(5), stream, strict=False):
        assert chunk.choices
    stream.close()
    deadline = time.monotonic() + 30
    while metric(address, "sardonyx_running_texts"):
        assert time.monotonic() < deadline
    assert metric(address, "sardonyx_generated_tokens_total") - before < 4000


def test_many_at_a_time(address: str) -> None:
    async def ask(client: AsyncOpenAI, number: int) -> str:
        if number % 3 == 0:
            stream = await client.chat.completions.create(model="talk", messages=MESSAGES, stream=True)
            return "".join([chunk.choices[0].delta.content or "" async for chunk in stream])
        answer = await client.chat.completions.create(model="talk", messages=MESSAGES)
        return str(answer.choices[0].message.content)

    async def run() -> list[str]:
        async with AsyncOpenAI(base_url=f"{address}/v1", api_key="secret", max_retries=0) as client:
            return await asyncio.gather(*(ask(client, number) for number in range(60)))

    assert asyncio.run(run()) == ["Hello world"] * 60
