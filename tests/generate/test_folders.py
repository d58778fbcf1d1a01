"""Folders of other programs: model, tokenizer, context, ends, settings and templates are those that their files state."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tokenizers import Tokenizer as Library
from tokenizers import decoders, models

import sardonyx as sx
from generate.decoders import summing_decoder
from generate.folders import TEMPLATE, byte_tokenizer, genai_config, write_folder
from sardonyx.generate import Generator, Tokenizer


def test_a_folder_of_genai(tmp_path: Path) -> None:
    config = genai_config(do_sample=True, temperature=0.7, top_k=5, top_p=0.9, repetition_penalty=1.1)
    write_folder(
        tmp_path, summing_decoder("old_0", "fresh_0"), name="text.onnx", files={"genai_config.json": config}
    )
    generator = Generator(tmp_path)
    assert (generator.context, generator.end_tokens) == (12, (5, 6))
    defaults = generator.defaults
    chosen = (defaults.temperature, defaults.top_k, defaults.top_p, defaults.repetition_penalty)
    assert chosen == (0.7, 5, 0.9, 1.1)
    assert generator.encode("w1 w2") == [1, 2]
    assert Generator(tmp_path / "text.onnx").context == 12  # the file of the folder, too


def test_a_folder_of_genai_that_takes_the_most_probable_tokens(tmp_path: Path) -> None:
    config = genai_config(do_sample=False, temperature=0.7, top_k=5, repetition_penalty=1.1)
    write_folder(
        tmp_path, summing_decoder("old_0", "fresh_0"), name="text.onnx", files={"genai_config.json": config}
    )
    defaults = Generator(tmp_path).defaults
    assert (defaults.temperature, defaults.top_k, defaults.repetition_penalty) == (0, 0, 1.1)


def test_a_folder_of_transformers(tmp_path: Path) -> None:
    files: dict[str, dict[str, object]] = {
        "config.json": {"max_position_embeddings": 32, "eos_token_id": 3},
        "generation_config.json": {"eos_token_id": [4], "do_sample": True, "top_p": 0.5},
        "tokenizer_config.json": {
            "bos_token": {"content": "w1"},
            "eos_token": "w4",
            "chat_template": TEMPLATE,
        },
    }
    write_folder(tmp_path / "onnx", summing_decoder())
    write_folder(tmp_path, summing_decoder(), files=files)
    generator = Generator(tmp_path)
    assert (generator.context, generator.end_tokens) == (32, (4,))
    assert (generator.defaults.top_p, generator.defaults.temperature) == (0.5, 1.0)
    assert generator.encode([{"role": "user", "content": " w2 w3"}]) == [1, 2, 3]


def test_the_end_token_of_the_tokenizer_is_the_last_resort(tmp_path: Path) -> None:
    write_folder(tmp_path, files={"tokenizer_config.json": {"eos_token": "w4"}})
    assert Generator(tmp_path).end_tokens == (4,)
    assert Generator(tmp_path, end_tokens=[2]).end_tokens == (2,)


def test_folders_that_say_too_little(tmp_path: Path) -> None:
    with pytest.raises(sx.InputError, match="the path of a model must exist"):
        Generator(tmp_path / "none")
    with pytest.raises(sx.InputError, match=r"must have one decoder, as model\.onnx; got no model"):
        Generator(tmp_path)
    for name in ("a.onnx", "b.onnx"):
        write_folder(tmp_path, name=name)
    with pytest.raises(sx.InputError, match=r"got a\.onnx, b\.onnx: give the path of the file instead"):
        Generator(tmp_path)
    assert Generator(tmp_path / "b.onnx").tokenizer is not None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "must be JSON"),
        ("[]", "must be a JSON object; got list"),
        ("{}", "must name a decoder with a file; got none"),
        (
            '{"model": {"decoder": {"filename": "a.onnx", "inputs": []}}}',
            "inputs must be an object; got list",
        ),
        (
            '{"model": {"decoder": {"filename": "a.onnx", "num_hidden_layers": 1e12}}}',
            "num_hidden_layers must be 0 to 10000; got 1000000000000.0",
        ),
        ('{"model": {"decoder": {"filename": "a.onnx"}}, "search": 3}', "search must be an object; got int"),
        (
            json.dumps({"model": {"decoder": {"filename": "a"}, "vision": {}}}),
            "a decoder with or without an encoder; got one with 'vision'",
        ),
    ],
)
def test_configurations_that_are_wrong(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "genai_config.json").write_text(text, encoding="utf-8")
    with pytest.raises(sx.InputError, match=message):
        Generator(tmp_path)


def test_the_text_of_a_single_token(tmp_path: Path) -> None:
    """Spaces before tokens count, which decoders leave out at the begin of a text; special tokens have their names."""
    library = Library(models.BPE({"\u2581": 0, "h": 1, "i": 2, "\u2581h": 3, "\u2581hi": 4}, []))
    library.decoder = decoders.Metaspace()
    library.add_special_tokens(["<end>"])
    library.save(str(tmp_path / "tokenizer.json"))
    tokenizer = Tokenizer.open(tmp_path)
    assert [tokenizer.token_text(token) for token in (4, 2, 5)] == [" hi", "i", "<end>"]
    (tmp_path / "bytes").mkdir()
    byte_tokenizer().save(str(tmp_path / "bytes/tokenizer.json"))
    tokens = Tokenizer.open(tmp_path / "bytes")
    assert [tokens.token_text(token) for token in tokens.encode("a \u00fc")] == ["a", " ", "\ufffd", "\ufffd"]


def test_a_tokenizer_of_another_model(tmp_path: Path) -> None:
    from generate.folders import byte_tokenizer

    write_folder(tmp_path, library=byte_tokenizer())
    with pytest.raises(
        sx.InputError,
        match="must be among those of the model, 0 to 6; got 255: this is the tokenizer of another",
    ):
        Generator(tmp_path)
    (tmp_path / "tokenizer.json").write_text("{}", encoding="utf-8")
    with pytest.raises(sx.InputError, match="must be a file of the package tokenizers"):
        Generator(tmp_path)


def test_conversations(tmp_path: Path) -> None:
    write_folder(tmp_path, files={"tokenizer_config.json": {"bos_token": "w1 "}})
    (tmp_path / "chat_template.jinja").write_text(TEMPLATE, encoding="utf-8")
    generator = Generator(tmp_path)
    messages = [{"role": "system", "content": "w2"}, {"role": "user", "content": "w3 w4"}]
    assert generator.encode(messages) == [1, 2, 3, 4]
    with pytest.raises(sx.InputError, match="refuses the messages: unknown role robot"):
        generator.encode([{"role": "robot", "content": "w2"}])
    with pytest.raises(sx.InputError, match='must be a dict with "role" and "content"; got'):
        generator.encode([{"content": "w2"}])
    with pytest.raises(sx.InputError, match="the chat template must be Jinja2"):
        Generator(tmp_path, chat_template="{% if %}")
    escape = "{{ messages.__class__.__mro__ }}"
    with pytest.raises(sx.InputError, match="refuses the messages: access to attribute"):
        Generator(tmp_path, chat_template=escape).encode(messages)
    (tmp_path / "chat_template.jinja").unlink()
    with pytest.raises(sx.InputError, match="a conversation requires a chat template"):
        Generator(tmp_path).encode(messages)


def test_members_of_other_types_are_left_out(tmp_path: Path) -> None:
    files: dict[str, dict[str, object]] = {
        "tokenizer_config.json": {"chat_template": ["a", {"name": "tool"}], "eos_token": 3},
        "generation_config.json": {"eos_token_id": "x", "do_sample": True, "top_k": "all"},
        "config.json": {"max_position_embeddings": "many"},
    }
    generator = Generator(write_folder(tmp_path, files=files))
    assert (generator.chat_template, generator.end_tokens, generator.context) == (None, (), None)
    with pytest.raises(sx.InputError, match="must consist of characters; got a lone surrogate"):
        generator.generate("\udcff")
