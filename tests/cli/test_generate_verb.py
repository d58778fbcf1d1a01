"""`sardonyx generate` prints text while it is generated, and JSON with tokens, reasons and times."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pytest

import sardonyx as sx
from generate.decoders import chain_decoder, summing_decoder
from generate.encoder_decoders import START, expected_tokens, genai_folder
from generate.folders import TEMPLATE, byte_tokenizer, word_tokenizer, write_folder
from sardonyx._src.cli.main import main
from sardonyx.generate import Generator

Streams = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_folder(tmp_path / "model", files={"config.json": {"max_position_embeddings": 24}})
    (tmp_path / "model" / "chat_template.jinja").write_text(TEMPLATE, encoding="utf-8")


def test_the_text_is_printed_and_the_speed_is_said(capsys: Streams) -> None:
    assert main(["generate", "model", "w1 w4", "--max-tokens", "5"]) == 0
    streams = capsys.readouterr()
    assert streams.out == Generator("model").generate("w1 w4", max_tokens=5).text + "\n"
    assert streams.err.startswith("2 tokens read in ") and ", 5 generated in " in streams.err


def test_standard_input_and_messages_are_prompts(monkeypatch: pytest.MonkeyPatch, capsys: Streams) -> None:
    expected = Generator("model").generate("w1 w4", max_tokens=3).text + "\n"
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"w1 w4")))
    assert main(["generate", "model", "-", "--max-tokens", "3"]) == 0
    assert capsys.readouterr().out == expected
    words = ["--system", "w1", "--message", "w4"]
    assert main(["generate", "model", *words, "--max-tokens", "3"]) == 0
    assert capsys.readouterr().out == expected


def test_json_has_results_tokens_and_logarithms(capsys: Streams) -> None:
    options = [
        "-n",
        "2",
        "--temperature",
        "1",
        "--seed",
        "3",
        "--max-tokens",
        "4",
        "--logprobs",
        "2",
        "--json",
    ]
    assert main(["generate", "model", "w1 w4", *options]) == 0
    streams = capsys.readouterr()
    document = json.loads(streams.out)
    generation = Generator("model").generate("w1 w4", n=2, temperature=1.0, seed=3, max_tokens=4, logprobs=2)
    assert [result["tokens"] for result in document["results"]] == [
        result.tokens for result in generation.results
    ]
    assert (document["prompt_tokens"], document["generated_tokens"], streams.err) == (2, 8, "")
    assert document["seconds"] >= document["prompt_seconds"] > 0
    (first, *_) = document["results"][0]["logprobs"]
    assert first["logprob"] < 0 and len(first["alternatives"]) == 2


def test_inputs_of_an_encoder_are_files(tmp_path: Path, capsys: Streams) -> None:
    folder = genai_folder(tmp_path / "listener")
    word_tokenizer().save(str(folder / "tokenizer.json"))
    features = np.random.default_rng(5).standard_normal((1, 4, 9), np.float32)
    np.save("features.npy", features)
    for begin, tokens in (([], [START]), (["w1 w2"], [1, 2])):
        words = ["--input", "audio_features=features.npy", "--max-tokens", "6", "--json"]
        assert main(["generate", "listener", *begin, *words]) == 0
        document = json.loads(capsys.readouterr().out)
        expected = expected_tokens(features.astype(np.float64).sum((0, 2)), 6, tokens)
        assert (document["results"][0]["tokens"], document["prompt_tokens"]) == (expected, len(tokens))
    assert main(["generate", "model", "w1", "--input", "x=[1]"]) == 2
    assert "--input requires a model with an encoder; got model" in capsys.readouterr().err
    assert main(["generate", "listener", "--input", "x=[1]"]) == 2
    assert "audio_features" in capsys.readouterr().err


def test_several_results_are_numbered(capsys: Streams) -> None:
    assert main(["generate", "model", "w1", "--beams", "3", "-n", "2", "--max-tokens", "2"]) == 0
    results = Generator("model").generate("w1", beams=3, n=2, max_tokens=2).results
    assert capsys.readouterr().out == f"--- 1\n{results[0].text}\n--- 2\n{results[1].text}\n"


def test_zero_tokens_are_up_to_the_context(capsys: Streams) -> None:
    assert main(["generate", "model", "w1 w4", "--max-tokens", "0", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["generated_tokens"] == 22


def test_roles_and_sizes_of_a_file(capsys: Streams) -> None:
    sx.save(summing_decoder("i", "o", tokens="x", logits="y"), "m.onnx")
    words = ["--role", "tokens=x", "--role", "logits=y", "--role", "i=o", "--tokenizer", "model"]
    assert main(["generate", "m.onnx", "w1 w4", *words, "--max-tokens", "2"]) == 0
    assert capsys.readouterr().out == Generator("model").generate("w1 w4", max_tokens=2).text + "\n"
    assert main(["generate", "m.onnx", "w1", *words, "--size", "d=x"]) == 2
    assert "--size d must be a length; got 'x'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["model"], "a prompt, --message or --input must be given"),
        (["model", "w1", "--message", "w2"], "a prompt or --message must be given, and not both"),
        (["model", "w1", "--system", "w2"], "--system requires --message"),
        (["model", "w1", "--logprobs", "2"], "--logprobs requires --json"),
        (["model", "w1", "--temperature", "-1"], "temperature must be at least 0; got -1.0"),
        (["none", "w1"], "the path of a model must exist; got none"),
        (
            ["model", " ".join(["w1"] * 24)],
            "fewer tokens than the context of the model, 24; got 24: shorten it",
        ),
    ],
)
def test_wrong_use(words: list[str], message: str, capsys: Streams) -> None:
    assert main(["generate", *words]) == 2
    streams = capsys.readouterr()
    assert message in streams.err and streams.out == ""


def test_results_of_a_form(capsys: Streams) -> None:
    library = byte_tokenizer()
    size = library.get_vocab_size()
    chain = np.random.default_rng(0).standard_normal((size, size)).astype(np.float32)
    write_folder(Path("bytes"), chain_decoder(chain), library=library)
    Path("g.lark").write_text('start: "ab"*')
    words = ["--regex", "(w1|w4){2}", "--max-tokens", "9"]
    assert main(["generate", "bytes", "w1", *words]) == 2
    assert "the model names none: give end_tokens" in capsys.readouterr().err
    Path("bytes/config.json").write_text('{"eos_token_id": 0}')
    assert main(["generate", "bytes", "w1", *words]) == 0
    assert capsys.readouterr().out.strip() in {a + b for a in ("w1", "w4") for b in ("w1", "w4")}
    assert main(["generate", "bytes", "w1", "--json-schema", "none.json"]) == 2
    assert "none.json: No such file or directory" in capsys.readouterr().err
    assert main(["generate", "bytes", "w1", "--json-schema", "any", "--grammar", "g.lark"]) == 2
    assert "a text must have one form; got json_schema and grammar" in capsys.readouterr().err
    Path("model/config.json").write_text('{"eos_token_id": 6}')
    assert main(["generate", "model", "w1", *words]) == 2
    assert "must be one of bytes: can't determine decoder type" in capsys.readouterr().err


def test_drafts_change_no_result_and_their_acceptance_is_said(capsys: Streams) -> None:
    assert main(["generate", "model", "w1 w4", "--max-tokens", "12", "--draft", "model"]) == 0
    streams = capsys.readouterr()
    assert streams.out == Generator("model").generate("w1 w4", max_tokens=12).text + "\n"
    assert streams.err.endswith(", 100% of the drafts accepted\n")
    assert main(["generate", "model", "w1 w4", "--max-tokens", "12", "--draft", "lookup", "--json"]) == 0
    assert 0 <= json.loads(capsys.readouterr().out)["acceptance"] <= 1
