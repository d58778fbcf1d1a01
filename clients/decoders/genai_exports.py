"""Folders that the builder of onnxruntime-genai writes, of small random language models of Transformers."""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
import transformers as tr
from onnxruntime_genai.models.builder import create_model, parse_extra_options

from decoders.random_weights import draw_weights, save_tokenizer

WORDS = 128
SIZES: Mapping[str, Any] = {
    "vocab_size": WORDS,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 256,
    "bos_token_id": 0,
    "eos_token_id": 1,
    "pad_token_id": 1,
    "tie_word_embeddings": False,
}


@dataclass(frozen=True)
class Build:
    """A call of the builder.

    family: the names of Transformers' configuration and model, without their endings.
    changes: to the sizes of all families.
    options: `KEY=VALUE` of the builder.
    """

    family: str
    precision: str = "fp32"
    options: tuple[str, ...] = ()
    changes: Mapping[str, Any] = field(default_factory=dict)


WINDOW = {"sliding_window": 6}
BUILDS: Mapping[str, Build] = {
    "llama": Build("Llama"),
    "llama-int4": Build("Llama", "int4"),
    "llama-int4-accuracy4": Build("Llama", "int4", ("int4_accuracy_level=4",)),
    "llama-int8": Build("Llama", "int8"),
    "qwen2": Build("Qwen2", changes={"vocab_size": 136}),
    "qwen3": Build("Qwen3", changes={"head_dim": 16}),
    "mistral-window": Build("Mistral", options=("past_present_share_buffer=False",), changes=WINDOW),
    "phi": Build("Phi", changes={"num_key_value_heads": 4, "hidden_size": 128}),
    "gemma": Build("Gemma", changes={"head_dim": 16}),
    "gemma2-softcap": Build("Gemma2", changes={"head_dim": 16, **WINDOW}),
    "granite": Build("Granite"),
    "olmo": Build("Olmo"),
    "smollm3": Build("SmolLM3"),
    "nemotron": Build("Nemotron", changes={"hidden_size": 128}),
    "ernie": Build("Ernie4_5"),
    "lfm2": Build("Lfm2"),
}


def transformers_model(build: Build) -> Any:
    torch.manual_seed(0)
    sizes = {**SIZES, **build.changes}
    name = build.family
    config = getattr(tr, f"{name}Config")(**sizes)
    return getattr(tr, f"{name}ForCausalLM")(config)


def save_transformers(build: Build, folder: Path) -> None:
    """Writes a random model and a tokenizer of words as Transformers does."""
    model = draw_weights(transformers_model(build))
    model.save_pretrained(folder)
    save_tokenizer(folder, WORDS)


def write(build: Build, target: Path) -> None:
    """Writes a folder with `genai_config.json`."""
    with TemporaryDirectory() as name:
        source = Path(name) / "source"
        save_transformers(build, source)
        call = ("", str(source), str(target), build.precision, "cpu", str(Path(name) / "cache"))
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings(action="ignore"):
            create_model(*call, **parse_extra_options(*call, list(build.options)))
