"""Language models over sockets: clients that leave, limits, metrics, the end of the service, and folders that are recognized."""

from __future__ import annotations

import asyncio
import json
import pickle
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pytest

import sardonyx as sx
from generate.decoders import chain_decoder
from sardonyx._src.serve.models.language.generation import TextGeneration
from sardonyx._src.serve.models.model_config import ModelConfig, parse_config
from sardonyx._src.serve.models.model_files import scan_repository
from sardonyx._src.serve.models.statistics import ModelStatistics, TokenStatistics
from sardonyx._src.serve.operation.snapshots import (
    LanguageSnapshot,
    ModelSnapshot,
    ProcessSnapshot,
    retire,
    sum_models,
)
from sardonyx._src.serve.service.service import Service
from sardonyx.generate import Tokenizer
from serve.language_models import write_encoder, write_scripted
from serve.running import HttpConnection, post, run_service, wait_until

T = TypeVar("T")
CHAT = "/v1/chat/completions"
FOREVER = {
    "model": "talk",
    "messages": [{"role": "user", "content": "chapter"}],
    "stream": True,
    "max_tokens": 4000,
}
SHORT = {"model": "talk", "messages": [{"role": "user", "content": "hi"}]}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    write_scripted(folder / "talk")
    return folder


def serve(
    folder: Path, scenario: Callable[[Service], Awaitable[T]], values: Mapping[str, object] | None = None
) -> T:
    """The result of a scenario with a service of HTTP alone."""
    return run_service(folder, scenario, {"grpc_port": None, **(values or {})})


def generation_of(service: Service) -> TextGeneration:
    language = service.repository.find("talk").language
    assert isinstance(language, TextGeneration)
    return language


async def begin(connection: HttpConnection) -> None:
    """Reads the begin of a stream."""
    await asyncio.wait_for(connection.reader.readuntil(b'"content":"ever, "'), 30)


async def rest_of(connection: HttpConnection) -> bytes:
    return await asyncio.wait_for(connection.reader.read(), 30)


def test_a_client_that_leaves_ends_its_generation(folder: Path) -> None:
    async def scenario(service: Service) -> tuple[int, str]:
        queue = generation_of(service).queue
        async with HttpConnection(service) as connection:
            connection.send(CHAT, FOREVER)
            await begin(connection)
            assert queue.running == 1
        await wait_until(lambda: queue.running == 0)
        answer = await post(service, CHAT, SHORT)
        outcomes = service.repository.find("talk").statistics.outcomes
        return outcomes["cancelled"], answer.json["choices"][0]["message"]["content"]

    assert serve(folder, scenario) == (1, "Hello world")


def test_a_client_that_leaves_the_queue_is_removed(folder: Path) -> None:
    async def scenario(service: Service) -> int:
        queue = generation_of(service).queue
        async with HttpConnection(service) as first, HttpConnection(service) as second:
            first.send(CHAT, FOREVER)
            await begin(first)
            second.send(CHAT, SHORT)
            await wait_until(lambda: queue.length == 1)
            second.close()
            await wait_until(lambda: queue.length == 0)
            return queue.running

    assert serve(folder, scenario, {"models": {"language": {"rows": 1}}}) == 1


def test_a_full_queue_refuses(folder: Path) -> None:
    async def scenario(service: Service) -> tuple[int, Any, str]:
        queue = generation_of(service).queue
        async with HttpConnection(service) as first, HttpConnection(service) as second:
            first.send(CHAT, FOREVER)
            await begin(first)
            second.send(CHAT, SHORT)
            await wait_until(lambda: queue.length == 1)
            answer = await post(service, CHAT, SHORT)
            return answer.status, answer.json["error"], answer.headers["retry-after"]

    status, error, retry_after = serve(
        folder, scenario, {"models": {"language": {"rows": 1}, "scheduling": {"max_queue": 1}}}
    )
    assert status == 429 and error["code"] == "rate_limit_exceeded" and error["type"] == "rate_limit_error"
    assert error["message"] == "1 requests wait for the model, as many as its queue may hold"
    assert int(retry_after) >= 1


def test_requests_run_together(folder: Path) -> None:
    async def scenario(service: Service) -> tuple[int, int]:
        queue = generation_of(service).queue
        async with HttpConnection(service) as first, HttpConnection(service) as second:
            first.send(CHAT, FOREVER)
            second.send(CHAT, FOREVER)
            await begin(first)
            await begin(second)
            return queue.running, (await post(service, CHAT, SHORT)).status

    assert serve(folder, scenario) == (2, 200)


def test_prompts_of_a_request_run_together(folder: Path) -> None:
    async def scenario(service: Service) -> tuple[int, int]:
        queue = generation_of(service).queue
        async with HttpConnection(service) as connection:
            body = {"model": "talk", "prompt": ["@"] * 6, "n": 2, "stream": True, "max_tokens": 4000}
            connection.send("/v1/completions", body)
            await wait_until(lambda: queue.running == 2)
            await asyncio.wait_for(connection.reader.readuntil(b'"ever, "'), 30)
            numbers = queue.running, queue.length
        await wait_until(lambda: queue.running == 0)
        return numbers

    assert serve(folder, scenario, {"models": {"language": {"rows": 4}}}) == (2, 0)


def test_limits_of_a_batch_name_their_parameter(folder: Path) -> None:
    async def scenario(service: Service) -> Any:
        return await post(service, CHAT, SHORT | {"n": 3})

    answer = serve(folder, scenario, {"models": {"language": {"rows": 2}}})
    error = answer.json["error"]
    assert answer.status == 413 and error["param"] == "n"
    assert error["message"].startswith("a request must have at most 2 results; got 3")


def test_the_end_of_the_service_ends_streams(folder: Path) -> None:
    async def scenario(service: Service) -> bytes:
        async with HttpConnection(service) as connection:
            connection.send(CHAT, FOREVER)
            await begin(connection)
            service.stop()
            return await rest_of(connection)

    text = serve(folder, scenario, {"grace_seconds": 0.0})
    last = [line for line in text.decode().splitlines() if line.startswith("data: ")][-1]
    assert json.loads(last.removeprefix("data: "))["error"]["message"] == "the service ends"


def test_a_service_that_ends_lets_texts_complete(folder: Path) -> None:
    async def scenario(service: Service) -> bytes:
        async with HttpConnection(service) as connection:
            connection.send(CHAT, FOREVER | {"max_tokens": 50})
            await begin(connection)
            service.stop()
            return await rest_of(connection)

    assert b"data: [DONE]" in serve(folder, scenario, {"grace_seconds": 30.0})


def test_metrics_count_tokens(folder: Path) -> None:
    async def scenario(service: Service) -> str:
        await post(service, CHAT, SHORT)
        await post(service, CHAT, SHORT)
        reader, writer = await asyncio.open_connection("127.0.0.1", service.ports["http"])
        writer.write(b"GET /metrics HTTP/1.0\r\n\r\n")
        text = (await reader.read()).decode()
        writer.close()
        return text

    text = serve(folder, scenario)
    label = '{model="talk",version="1"}'
    assert f"sardonyx_prompt_tokens_total{label} 18.0" in text
    assert f"sardonyx_generated_tokens_total{label} 6.0" in text
    assert f"sardonyx_first_token_seconds_count{label} 2.0" in text
    assert f"sardonyx_token_seconds_count{label} 6.0" in text
    assert f"sardonyx_running_texts{label} 0.0" in text
    assert f"sardonyx_cache_bytes{label} 0.0" in text
    assert 'sardonyx_requests_total{model="talk",outcome="ok",version="1"} 2.0' in text


def test_a_failure_within_a_stream_is_its_last_event(tmp_path: Path) -> None:
    """After the first token, the logits of this model are no numbers."""
    folder = write_scripted(tmp_path / "talk")
    size = Tokenizer.open(folder).library.get_vocab_size()
    chain = np.zeros((size, size), np.float32)
    chain[1:] = np.nan
    sx.save(chain_decoder(chain), folder / "model.onnx")

    async def scenario(service: Service) -> tuple[bytes, int]:
        body = {"model": "talk", "prompt": [0], "stream": True, "logit_bias": {"1": 50}}
        async with HttpConnection(service) as connection:
            connection.send("/v1/completions", body)
            text = await asyncio.wait_for(connection.reader.readuntil(b"0\r\n\r\n"), 30)
        return text, service.repository.find("talk").statistics.outcomes["invalid"]

    text, count = serve(tmp_path, scenario)
    events = [line for line in text.decode().splitlines() if line.startswith("data: ")]
    assert len(events) == 2 and json.loads(events[0].removeprefix("data: "))["choices"][0]["text"]
    error = json.loads(events[1].removeprefix("data: "))["error"]
    assert error["message"] == "the logits of a decoder must be numbers; got NaN after 1 tokens of the result"
    assert count == 1


def test_metrics_of_processes_add_up() -> None:
    """As the supervisor adds them: snapshots come from other processes, and remain when one of these ends."""

    def snapshot() -> ModelSnapshot:
        statistics = ModelStatistics()
        statistics.tokens = TokenStatistics()
        statistics.tokens.record_first(5, 1, 0.1)
        statistics.tokens.record_token(1, 0.01)
        return ModelSnapshot("talk", "1", True, 2, None, statistics, LanguageSnapshot(3, 100))

    processes = [pickle.loads(pickle.dumps(ProcessSnapshot((snapshot(),)))) for _ in range(2)]
    (total,) = sum_models([*processes, retire(processes[0])])
    assert total.language == LanguageSnapshot(6, 200) and total.queue_length == 4
    assert total.statistics.tokens is not None
    assert (total.statistics.tokens.prompt_tokens, total.statistics.tokens.generated_tokens) == (15, 6)
    assert sum(total.statistics.tokens.first_token_seconds.counts) == 3


# --- folders -----------------------------------------------------------------------------------


def test_a_folder_of_a_language_model_is_a_repository(folder: Path) -> None:
    async def scenario(service: Service) -> Any:
        return (await post(service, CHAT, SHORT)).json["model"]

    assert serve(folder / "talk", scenario) == "talk"


def test_folders_of_versions_and_their_configuration(tmp_path: Path) -> None:
    write_scripted(tmp_path / "talk/1")
    write_encoder(tmp_path / "embed")
    configuration = {"language": {"context": 99}, "scheduling": {"max_queue": 3}}
    (tmp_path / "talk/config.json").write_text(json.dumps(configuration))
    files = scan_repository(tmp_path)
    assert files["talk"].versions == {1: tmp_path / "talk/1"} and files["embed"].config is None

    async def scenario(service: Service) -> int | None:
        return generation_of(service).generator.context

    assert serve(tmp_path, scenario) == 99


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rows": 0}, "language.rows must be at least 1; got 0"),
        ({"prefix_bytes": -1}, "language.prefix_bytes must be at least 0; got -1"),
        ({"max_token": 3}, "language has no setting 'max_token'; did you mean 'max_tokens'?"),
    ],
)
def test_options_that_are_wrong(options: dict[str, int], message: str) -> None:
    with pytest.raises(sx.InputError) as caught:
        parse_config({"language": options}, ModelConfig())
    assert str(caught.value) == message


def test_a_folder_that_cannot_be_opened_has_its_reason(folder: Path, tmp_path: Path) -> None:
    write_scripted(tmp_path / "talk")
    (tmp_path / "talk/tokenizer.json").write_text("{}")

    async def scenario() -> str:
        from sardonyx._src.serve.models.repository import ModelRepository

        repository = ModelRepository.of_folder(tmp_path)
        await repository.load_all()
        (row,) = repository.index()
        return row.reason

    assert "tokenizer.json must be a file of the package tokenizers" in asyncio.run(scenario())
