"""Completions, embeddings and the list of models; errors of any path of the interface."""

from __future__ import annotations

import asyncio
import base64
from pathlib import Path

import numpy as np
import pytest

from generate.decoders import EMBEDDING, encoder, window_decoder
from generate.encoder_decoders import expected_tokens, text_source, write_encoder_decoders
from generate.folders import byte_tokenizer, write_folder
from sardonyx._src.serve.protocol.service_limits import ServiceLimits
from sardonyx._src.serve.rest.application import RestApplication
from serve.asgi_client import request
from serve.language_models import events_of, open_application, post, write_encoder, write_scripted
from serve.repositories import write_scale


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> RestApplication:
    folder = tmp_path_factory.mktemp("models")
    write_scripted(folder / "talk")
    write_encoder(folder / "embed")
    write_scale(folder / "scale.onnx", 2)
    return open_application(folder)


# --- completions -------------------------------------------------------------------------------


def test_each_prompt_has_its_results(app: RestApplication) -> None:
    answer = post(app, "completions", model="talk", prompt=["a:", "bc:"], n=2).json
    assert answer["object"] == "text_completion" and answer["id"].startswith("cmpl-")
    assert [choice["index"] for choice in answer["choices"]] == [0, 1, 2, 3]
    assert {choice["text"] for choice in answer["choices"]} == {"Hello world"}
    assert answer["usage"] == {"prompt_tokens": 5, "completion_tokens": 12, "total_tokens": 17}


def test_a_prompt_may_be_tokens(app: RestApplication) -> None:
    tokens = [byte_tokenizer().token_to_id(letter) for letter in "a:"]
    for prompt in (tokens, [tokens]):
        answer = post(app, "completions", model="talk", prompt=prompt, echo=True).json
        assert [choice["text"] for choice in answer["choices"]] == ["a:Hello world"]


def test_a_stream_of_completions(app: RestApplication) -> None:
    events = events_of(post(app, "completions", model="talk", prompt="a:", stream=True, echo=True))
    assert [e["choices"][0]["text"] for e in events] == ["a:", "Hel", "lo ", "world", ""]
    assert events[-1]["choices"][0]["finish_reason"] == "stop"


def test_sixteen_tokens_unless_stated(app: RestApplication) -> None:
    answer = post(app, "completions", model="talk", prompt="@").json
    assert answer["usage"]["completion_tokens"] == 16
    assert answer["choices"][0]["finish_reason"] == "length"


def test_logarithms_of_completions(app: RestApplication) -> None:
    choice = post(app, "completions", model="talk", prompt=":", logprobs=1).json["choices"][0]
    logprobs = choice["logprobs"]
    assert logprobs["tokens"] == ["Hel", "lo ", "world"] and logprobs["text_offset"] == [0, 3, 6]
    assert logprobs["token_logprobs"] == pytest.approx([0, 0, 0], abs=1e-6)
    assert [list(top) for top in logprobs["top_logprobs"]] == [["Hel"], ["lo "], ["world"]]


@pytest.mark.parametrize(
    ("fields", "param", "message"),
    [
        ({}, "prompt", "prompt must be a text, a list of texts, a list of tokens or a list of such lists"),
        ({"prompt": []}, "prompt", "prompt must be 1 to 128 texts"),
        ({"prompt": [-1]}, "prompt", "prompt must be a text, a list of texts"),
        ({"prompt": [99999]}, "prompt", "tokens must be in 0 to"),
        ({"prompt": ""}, "prompt", "a prompt must have at least one token"),
        (
            {"prompt": "x" * 5000},
            "prompt",
            "prompt must have fewer tokens than the context of the model, 4096",
        ),
        ({"prompt": "x", "suffix": "y"}, "suffix", "suffix must be '' for this service; got 'y'"),
        ({"prompt": "x", "best_of": 2}, "best_of", "best_of must be 1 for this service; got 2"),
        ({"prompt": "x", "echo": True, "logprobs": 1}, "echo", "echo must be false with logprobs"),
        (
            {"prompt": "x", "model": "embed"},
            "model",
            "the model 'embed' has no completions; models that have are talk",
        ),
        ({"prompt": "x", "model": "scale"}, "model", "the model 'scale' has no completions"),
    ],
)
def test_completions_that_are_wrong(
    app: RestApplication, fields: dict[str, object], param: str, message: str
) -> None:
    response = post(app, "completions", **{"model": "talk", **fields})
    error = response.json["error"]
    assert response.status == 400 and error["param"] == param and message in error["message"]


def test_an_encoder_decoder_continues_texts(tmp_path: Path) -> None:
    write_encoder_decoders(tmp_path)
    app = open_application(tmp_path)
    begin, expected = "w1 w5 w2 w6", expected_tokens(text_source([1, 5, 2, 6]), 6)
    response = post(
        app, "completions", model="translator", prompt=[begin, [0, 3]], max_tokens=6, temperature=0
    )
    texts = [choice["text"].split() for choice in response.json["choices"]]
    other = expected_tokens(text_source([0, 3]), 6)
    assert texts == [[f"w{token}" for token in tokens] for tokens in (expected, other)]
    assert response.json["usage"]["prompt_tokens"] == 6
    long = ["w1 " * 50]  # longer than the context of the decoder
    assert post(app, "completions", model="translator", prompt=long, max_tokens=2).status == 200
    for path in ("completions", "chat/completions"):
        refused = post(app, path, model="listener", prompt="w1")
        error = refused.json["error"]
        assert (refused.status, error["param"], error["code"]) == (400, "model", "unsupported_parameter")
        assert "the model 'listener' must read text; its encoder reads audio_features" in error["message"]


def test_a_model_that_reads_a_number_of_tokens_requires_them(tmp_path: Path) -> None:
    write_folder(tmp_path / "window", window_decoder(3))
    app = open_application(tmp_path)
    answer = post(app, "completions", model="window", prompt="w1 w2 w3 w4", max_tokens=4, temperature=0).json
    assert answer["usage"]["completion_tokens"] == 4
    response = post(app, "completions", model="window", prompt="w1")
    error = response.json["error"]
    assert response.status == 400 and error["param"] == "prompt"
    assert (
        error["message"] == "the prompt must have at least 3 tokens, which the model reads at a time; got 1"
    )


# --- embeddings --------------------------------------------------------------------------------


def expected(*words: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """The mean of the embeddings times their positions, as `encoder` computes them."""
    mean: np.ndarray[tuple[int, ...], np.dtype[np.float64]] = np.mean(
        [EMBEDDING[word] * (i + 1) for i, word in enumerate(words)], axis=0
    )
    return mean


def test_vectors_of_texts(app: RestApplication) -> None:
    answer = post(app, "embeddings", model="embed", input=["w1 w2", "w3"]).json
    assert answer["object"] == "list" and answer["usage"] == {"prompt_tokens": 3, "total_tokens": 3}
    assert [item["index"] for item in answer["data"]] == [0, 1]
    np.testing.assert_allclose(answer["data"][0]["embedding"], expected(1, 2), rtol=1e-5)
    np.testing.assert_allclose(answer["data"][1]["embedding"], expected(3), rtol=1e-5)


@pytest.mark.parametrize("texts", ["w4 w5", ["w4 w5"], [4, 5], [[4, 5]]])
def test_vectors_in_base64(app: RestApplication, texts: object) -> None:
    fields = {"model": "embed", "input": texts, "encoding_format": "base64", "dimensions": 4}
    (item,) = post(app, "embeddings", **fields).json["data"]
    vector = np.frombuffer(base64.b64decode(item["embedding"]), "<f4")
    np.testing.assert_allclose(vector, expected(4, 5), rtol=1e-5)


def test_encoders_are_told_by_their_outputs(tmp_path: Path) -> None:
    write_folder(tmp_path / "plain", encoder())
    write_folder(tmp_path / "pooled", encoder(pools=True))
    app = open_application(tmp_path)
    (item,) = post(app, "embeddings", model="plain", input="w4 w5").json["data"]
    np.testing.assert_allclose(item["embedding"], expected(4, 5), rtol=1e-5)
    (item,) = post(app, "embeddings", model="pooled", input="w4 w5").json["data"]
    np.testing.assert_allclose(item["embedding"], np.maximum(EMBEDDING[4], 2 * EMBEDDING[5]), rtol=1e-5)


@pytest.mark.parametrize(
    ("fields", "param", "code", "message"),
    [
        ({"input": "w1 w1 w1 w1 w1"}, "input", "context_length_exceeded", "must have at most 4 tokens"),
        ({"input": ["w1", ""]}, "input", None, "a text of input must have at least one token; got none"),
        ({"input": "w1", "dimensions": 3}, "dimensions", "unsupported_parameter", "dimensions must be 4"),
        ({"input": "w1", "encoding_format": "hex"}, "encoding_format", None, "must be float or base64"),
        ({"input": "w1", "model": "talk"}, "model", "unsupported_parameter", "models that have are embed"),
    ],
)
def test_embeddings_that_are_wrong(
    app: RestApplication, fields: dict[str, object], param: str, code: str | None, message: str
) -> None:
    response = post(app, "embeddings", **{"model": "embed", **fields})
    error = response.json["error"]
    assert (response.status, error["param"], error["code"]) == (400, param, code)
    assert message in error["message"]


# --- models, and errors of any path --------------------------------------------------------------


def test_models_are_those_of_language(app: RestApplication) -> None:
    answer = asyncio.run(request(app, "GET", "/v1/models")).json
    assert answer["object"] == "list" and [model["id"] for model in answer["data"]] == ["embed", "talk"]
    model = asyncio.run(request(app, "GET", "/v1/models/talk")).json
    assert model == answer["data"][1] and model["object"] == "model"


@pytest.mark.parametrize(
    ("method", "path", "status", "message", "code"),
    [
        ("GET", "/v1/models/tolk", 404, "there is no model 'tolk'; did you mean 'talk'?", "model_not_found"),
        ("GET", "/v1/models/scale", 404, "the model 'scale' is no language model", "model_not_found"),
        ("GET", "/v1/chat/completions", 405, "Method Not Allowed", None),
        ("POST", "/v1/responses", 404, "there is nothing under the path '/v1/responses'", None),
        ("POST", "/v1/completions", 400, "the request must be JSON", None),
    ],
)
def test_errors_have_the_form_of_the_interface(
    app: RestApplication, method: str, path: str, status: int, message: str, code: str | None
) -> None:
    response = asyncio.run(request(app, method, path, b"{"))
    error = response.json["error"]
    assert response.status == status and message in error["message"] and error["code"] == code
    assert set(error) == {"message", "type", "param", "code"}


def test_bodies_have_the_limits_of_the_service(tmp_path: Path) -> None:
    write_encoder(tmp_path / "embed")
    app = open_application(tmp_path, ServiceLimits(json=100))
    response = post(app, "embeddings", model="embed", input="w1 " * 50)
    error = response.json["error"]
    assert response.status == 413 and error["type"] == "invalid_request_error"
    assert error["message"].startswith("a request must have at most 100 bytes; got ")
    assert app.held.count == 0


def test_errors_of_the_inference_protocol_keep_theirs(app: RestApplication) -> None:
    assert asyncio.run(request(app, "GET", "/v2/models/x")).json == {"error": "there is no model 'x'"}


def test_a_language_model_has_tensors_too(app: RestApplication) -> None:
    tokens = {"name": "tokens", "datatype": "INT64", "shape": [1, 2], "data": [0, 1]}
    answer = asyncio.run(request(app, "POST", "/v2/models/talk/infer", {"inputs": [tokens]})).json
    assert answer["outputs"][0]["shape"][:2] == [1, 2]


def test_the_token_of_the_service_is_required(tmp_path: Path) -> None:
    write_encoder(tmp_path / "embed")
    app = open_application(tmp_path, token="secret")
    response = asyncio.run(request(app, "GET", "/v1/models"))
    assert response.status == 401 and response.json["error"]["code"] == "invalid_api_key"
    allowed = asyncio.run(request(app, "GET", "/v1/models", headers={"Authorization": "Bearer secret"}))
    assert allowed.status == 200
