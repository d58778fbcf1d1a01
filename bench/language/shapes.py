"""The decoders that are measured, and their files: of ONNX, of onnxruntime-genai, and of llama.cpp."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import sardonyx as sx
from language.gguf_file import BLOCK_BYTES, save_gguf
from measure import BUILD
from zoo.packed_decoder import DecoderShape, PackedDecoder, Weights

FOLDER = BUILD / "language"
POSITIONS = 4608
SHAPES = {
    "0.1": DecoderShape(layers=12, width=768, inner=2048, heads=12, key_heads=4),
    "0.3": DecoderShape(),
    "1.1": DecoderShape(layers=16, width=2048, inner=8192, heads=32, key_heads=8, vocabulary=32_000),
}
# Weights by the name of a row, with the type of llama.cpp's tensors: it has no blocks of 128.
WEIGHTS: dict[str, tuple[Weights, int, str]] = {
    "4 bits": ("4 bits", 32, "Q4_0"),
    "4 bits, blocks of 128": ("4 bits", 128, "Q4_0"),
    "8 bits": ("8 bits", 32, "Q8_0"),
    "bfloat16": ("bfloat16", 32, "BF16"),
    "float32": ("float32", 32, "F32"),
}


def shape_of(size: str, weights: str) -> DecoderShape:
    kind, block, _ = WEIGHTS[weights]
    return replace(SHAPES[size], weights=kind, block=block, positions=POSITIONS)


def onnx_folder(size: str, weights: str) -> Path:
    """The folder of a model, with the configuration of onnxruntime-genai; written if it is missing."""
    folder = FOLDER / f"{size}, {weights}"
    if not (folder / "genai_config.json").exists():
        folder.mkdir(parents=True, exist_ok=True)
        shape = shape_of(size, weights)
        sx.save(PackedDecoder(shape).model(), folder / "model.onnx", external="model.data")
        (folder / "genai_config.json").write_text(json.dumps(genai_config(shape)), encoding="utf-8")
    return folder


def genai_config(shape: DecoderShape) -> dict[str, object]:
    """What onnxruntime-genai's builder writes for such a model."""
    caches = {
        f"{way}_{part}_names": f"{way}.%d.{part}" for way in ("past", "present") for part in ("key", "value")
    }
    inputs = {"input_ids": "input_ids", "attention_mask": "attention_mask"}
    decoder = {
        "filename": "model.onnx",
        "head_size": shape.each,
        "hidden_size": shape.width,
        "num_attention_heads": shape.heads,
        "num_hidden_layers": shape.layers,
        "num_key_value_heads": shape.key_heads,
        "inputs": inputs | {name: value for name, value in caches.items() if name.startswith("past")},
        "outputs": {"logits": "logits"}
        | {name: value for name, value in caches.items() if name.startswith("present")},
    }
    model = {
        "type": "llama",
        "bos_token_id": 1,
        "eos_token_id": shape.vocabulary - 1,
        "pad_token_id": 0,
        "vocab_size": shape.vocabulary,
        "context_length": shape.positions,
        "decoder": decoder,
    }
    return {"model": model, "search": {"do_sample": False, "max_length": shape.positions, "min_length": 0}}


def gguf_path(size: str, weights: str) -> Path:
    """The file of llama.cpp for a shape and a type of weights; written if it is missing."""
    kind = WEIGHTS[weights][2]
    path = FOLDER / f"{size} {kind}.gguf"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_suffix(".partial")
        save_gguf(partial, shape_of(size, weights), kind)
        os.replace(partial, path)
    return path


def weight_bytes(size: str, weights: str) -> int:
    """The bytes of weights that a token reads: of all products, in llama.cpp's type."""
    shape, (terms, nbytes) = shape_of(size, weights), BLOCK_BYTES[WEIGHTS[weights][2]]
    heads = shape.width * shape.each * (2 * shape.heads + 2 * shape.key_heads)
    elements = shape.layers * (heads + 3 * shape.width * shape.inner) + shape.vocabulary * shape.width
    return elements * nbytes // terms
