"""Folders of small language models with tokenizers, as other programs write them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import Tokenizer as Library
from tokenizers import decoders, models, pre_tokenizers

import sardonyx as sx
from generate.decoders import WORDS, chain_decoder, encoder, summing_decoder

TEMPLATE = """{{ bos_token }}{% for message in messages %}{% if message.role not in ["system", "user", "assistant"] %}
{{ raise_exception("unknown role " + message.role) }}{% endif %}{{ message.content }} {% endfor %}"""


def word_tokenizer() -> Library:
    """The words w0 to w6, between spaces."""
    library = Library(models.WordLevel({f"w{i}": i for i in range(WORDS)}, unk_token="w0"))
    library.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return library


def byte_tokenizer() -> Library:
    """A token for each byte, by the alphabet of byte-level tokenizers, sorted."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    library = Library(models.BPE({letter: i for i, letter in enumerate(alphabet)}, []))
    library.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    library.decoder = decoders.ByteLevel()
    return library


def write_folder(
    folder: Path,
    model: sx.Model | None = None,
    *,
    name: str = "model.onnx",
    library: Library | None = None,
    files: Mapping[str, Mapping[str, Any]] | None = None,
) -> Path:
    """A folder with a model, a tokenizer and JSON files by name."""
    folder.mkdir(parents=True, exist_ok=True)
    sx.save(model or summing_decoder(), folder / name)
    (library or word_tokenizer()).save(str(folder / "tokenizer.json"))
    for file, content in (files or {}).items():
        (folder / file).write_text(json.dumps(content), encoding="utf-8")
    return folder


def genai_config(**search: object) -> dict[str, Any]:
    """A `genai_config.json` of `summing_decoder` with other names of its caches."""
    return {
        "model": {
            "type": "llama",
            "context_length": 12,
            "eos_token_id": [5, 6],
            "decoder": {
                "filename": "text.onnx",
                "head_size": 4,
                "num_hidden_layers": 1,
                "inputs": {"input_ids": "input_ids", "past_value_names": "old_%d"},
                "outputs": {"logits": "logits", "present_value_names": "fresh_%d"},
            },
        },
        "search": search,
    }


def write_language_models(folder: Path) -> None:
    """What the pages of the documentation name: `folder` and `genai`, with chat templates, `encoder`, `bytes`, whose tokens are bytes, and
    `decoder.onnx` with names of its own."""
    write_folder(folder / "folder", files={"config.json": {"max_position_embeddings": 256}})
    (folder / "folder" / "chat_template.jinja").write_text(TEMPLATE, encoding="utf-8")
    config = genai_config()
    config["model"]["context_length"] = 200
    caches = summing_decoder("old_0", "fresh_0")
    write_folder(folder / "genai", caches, name="text.onnx", files={"genai_config.json": config})
    (folder / "genai" / "chat_template.jinja").write_text(TEMPLATE, encoding="utf-8")
    write_folder(folder / "encoder", encoder())
    library = byte_tokenizer()
    chain = np.random.default_rng(0).standard_normal(2 * (library.get_vocab_size(),)).astype(np.float32)
    write_folder(folder / "bytes", chain_decoder(chain), library=library)
    sx.save(summing_decoder("state_in", "state_out", tokens="x", logits="y"), folder / "decoder.onnx")
