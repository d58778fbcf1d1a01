"""Texts of a given form: every result of a model that knows nothing is valid."""

from __future__ import annotations

import json
import re
from pathlib import Path

import jsonschema
import numpy as np
import pytest

import sardonyx as sx
from generate.decoders import chain_decoder
from generate.folders import byte_tokenizer, write_folder
from sardonyx.generate import Generator

SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 8},
        "age": {"type": "integer", "minimum": 0, "maximum": 120},
        "tags": {"type": "array", "items": {"enum": ["red", "green"]}, "maxItems": 3},
        "of": {"anyOf": [{"type": "null"}, {"type": "boolean"}]},
    },
    "required": ["name", "age", "tags", "of"],
    "additionalProperties": False,
}
END = 257


@pytest.fixture(scope="module")
def generator(tmp_path_factory: pytest.TempPathFactory) -> Generator:
    """A model of bytes with drawn logits, and an end token that is none of them."""
    library = byte_tokenizer()
    library.add_special_tokens(["<s>", "</s>"])
    size = library.get_vocab_size()
    chain = np.random.default_rng(0).standard_normal((size, size)).astype(np.float32)
    folder = tmp_path_factory.mktemp("bytes")
    write_folder(folder, chain_decoder(chain), library=library)
    return Generator(folder, end_tokens=[END])


def test_every_result_satisfies_its_schema(generator: Generator) -> None:
    for seed in range(25):
        result = generator.generate("a", json_schema=SCHEMA, temperature=1.0, seed=seed, max_tokens=400)
        assert result.finish_reason == "stop"
        jsonschema.validate(json.loads(result.text), SCHEMA)


def test_several_results_each_satisfy_the_schema(generator: Generator) -> None:
    results = generator.generate(
        "a", json_schema=json.dumps(SCHEMA), temperature=1.5, n=4, max_tokens=400
    ).results
    for result in results:
        jsonschema.validate(json.loads(result.text), SCHEMA)
    assert len({result.text for result in results}) == 4


def test_any_json(generator: Generator) -> None:
    texts = [
        generator.generate("a", json_schema=True, temperature=1.0, seed=s, max_tokens=40) for s in range(20)
    ]
    complete = [result.text for result in texts if result.finish_reason == "stop"]
    assert complete and [json.loads(text) for text in complete]


def test_every_result_matches_its_expression(generator: Generator) -> None:
    pattern = r"(yes|no), [0-9]{2,4}(é|!)+"
    for seed in range(20):
        result = generator.generate("a", regex=pattern, temperature=1.0, seed=seed, max_tokens=60)
        if result.finish_reason == "stop":
            assert re.fullmatch(pattern, result.text), result.text


def test_a_grammar_of_lark(generator: Generator) -> None:
    source = 'start: "(" start ")" | "x"'
    for seed in range(10):
        text = generator.generate("a", grammar=source, temperature=1.0, seed=seed, max_tokens=200).text
        depth = text.count("(")
        assert text in ("(" * depth + "x" + ")" * depth, "(" * 200)


def test_a_result_that_the_context_cuts_is_not_complete(generator: Generator) -> None:
    result = generator.generate("a", json_schema=SCHEMA, max_tokens=5)
    assert result.finish_reason == "length" and result.text.startswith("{")


def test_forms_that_are_wrong(generator: Generator, tmp_path: Path) -> None:
    with pytest.raises(sx.InputError, match="json_schema must be a grammar of texts"):
        generator.generate("a", json_schema={"type": "nothing"})
    with pytest.raises(sx.InputError, match="json_schema must be a grammar of texts"):
        generator.generate("a", json_schema="{")
    with pytest.raises(sx.InputError, match="regex must be a grammar of texts"):
        generator.generate("a", regex="(")
    with pytest.raises(sx.InputError, match="grammar must be a grammar of texts"):
        generator.generate("a", grammar="start: nothing")
    with pytest.raises(sx.InputError, match="a text must have one form; got json_schema and regex"):
        generator.generate("a", json_schema=True, regex="a")
    with pytest.raises(sx.InputError, match="beams must be 1 with regex; got 2"):
        generator.generate("a", beams=2, regex="a")
    with pytest.raises(sx.InputError, match="must be a schema that some value satisfies"):
        generator.generate("a", json_schema=False)  # type: ignore[arg-type]
    with pytest.raises(
        sx.InputError, match="requires a token that ends it, and the model names none: give end_tokens"
    ):
        Generator(write_folder(tmp_path)).generate("w1", regex="a")
    with pytest.raises(sx.InputError, match="regex requires a tokenizer; the model has none"):
        Generator(chain_decoder(), end_tokens=[6]).generate([0], regex="a")
