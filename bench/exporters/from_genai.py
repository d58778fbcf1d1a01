# /// script
# dependencies = ["torch==2.13.0", "onnxruntime-genai==0.18.0", "onnx-ir==1.1.0", "transformers", "tokenizers"]
# ///
"""Small random language models, written by the builder of onnxruntime-genai: float32, 4 and 8 bits, prompts and tokens."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from exports import export_models, tokens
from onnxruntime_genai.models.builder import create_model, parse_extra_options
from tokenizers import Tokenizer, models
from transformers import (
    LlamaConfig,
    LlamaForCausalLM,
    MistralConfig,
    MistralForCausalLM,
    PreTrainedTokenizerFast,
    Qwen2Config,
    Qwen2ForCausalLM,
)

WORDS, LAYERS, HEADS, KEY_HEADS, HIDDEN = 2000, 2, 8, 2, 512
PROMPT, PAST = 64, 256
SIZES = {
    "vocab_size": WORDS,
    "hidden_size": HIDDEN,
    "intermediate_size": 1024,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": HEADS,
    "num_key_value_heads": KEY_HEADS,
    "max_position_embeddings": 1024,
    "bos_token_id": 0,
    "eos_token_id": 1,
    "pad_token_id": 1,
    "tie_word_embeddings": False,
}
FAMILIES: dict[str, Callable[[], Any]] = {
    "Llama": lambda: LlamaForCausalLM(LlamaConfig(**SIZES)),
    "Qwen2": lambda: Qwen2ForCausalLM(Qwen2Config(**SIZES)),
    "Mistral": lambda: MistralForCausalLM(MistralConfig(**SIZES, sliding_window=128)),
}
BUILDS = {
    "Llama float32": ("Llama", "fp32", []),
    "Llama 4 bits": ("Llama", "int4", []),
    "Llama 4 bits, accuracy 4": ("Llama", "int4", ["int4_accuracy_level=4"]),
    "Qwen2 4 bits": ("Qwen2", "int4", []),
    "Llama 8 bits": ("Llama", "int8", []),
    "Mistral 4 bits, window": ("Mistral", "int4", []),
}


def save_model(family: str, folder: Path) -> None:
    """Writes a random model with a tokenizer as Transformers does."""
    torch.manual_seed(0)
    FAMILIES[family]().save_pretrained(folder)
    words = {f"w{i}": i for i in range(WORDS)}
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="w2"))
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="w2").save_pretrained(folder)


def export(build: str, path: Path, *, new: int, past: int) -> Mapping[str, Any]:
    family, precision, options = BUILDS[build]
    with TemporaryDirectory() as name:
        source, target = Path(name) / "source", Path(name) / "target"
        save_model(family, source)
        call = ("", str(source), str(target), precision, "cpu", str(Path(name) / "cache"))
        create_model(*call, **parse_extra_options(*call, options))
        shutil.copy(target / "model.onnx", path)
        if (data := target / "model.onnx.data").exists():  # the model names the file so
            shutil.copy(data, path.parent / "model.onnx.data")
            merge_data(path)
    cache = np.zeros((1, KEY_HEADS, past, HIDDEN // HEADS), np.float32)
    caches = {f"past_key_values.{i}.{kind}": cache for i in range(LAYERS) for kind in ("key", "value")}
    mask = np.ones((1, past + new), np.int64)
    return {"input_ids": tokens(1, new, most=WORDS), "attention_mask": mask, **caches}


def merge_data(path: Path) -> None:
    """Moves the weights into the file of the model."""
    import onnx

    model = onnx.load(path)
    (path.parent / "model.onnx.data").unlink()
    onnx.save(model, path)


if __name__ == "__main__":
    export_models(
        {
            f"genai, {build}, {label}": partial(export, build, new=new, past=past)
            for build in BUILDS
            for label, new, past in (("prompt", PROMPT, 0), ("token", 1, PAST))
        }
    )
