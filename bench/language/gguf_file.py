"""Files of llama.cpp: a Llama with drawn weights, in the format GGUF, version 3.

A file has a header, pairs of names and values, descriptions of tensors, and their data, each aligned to 32 bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import ml_dtypes
import numpy as np

from sardonyx._src.ir import Array
from zoo.packed_decoder import DecoderShape

ALIGNMENT = 32
TYPES = {"F32": 0, "Q4_0": 2, "Q8_0": 8, "BF16": 30}
BLOCK_BYTES = {
    "F32": (1, 4),
    "BF16": (1, 2),
    "Q4_0": (32, 18),
    "Q8_0": (32, 34),
}  # terms and bytes of a block
FILE_TYPES = {"F32": 0, "Q4_0": 2, "Q8_0": 7, "BF16": 32}
SEED = 7


def save_gguf(path: Path, shape: DecoderShape, kind: str) -> None:
    """Writes a Llama; kind: the type of its matrices, as ggml calls it."""
    tensors = dict(tensors_of(shape, kind))
    with path.open("wb") as file:
        values = metadata(shape, kind)
        file.write(b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(values)))
        for key, value in values.items():
            file.write(text(key) + encoded(value))
        offset = 0
        for name, (rows, columns, kind_of) in tensors.items():
            dims = (columns, rows) if rows else (columns,)
            file.write(
                text(name) + struct.pack(f"<I{len(dims)}QIQ", len(dims), *dims, TYPES[kind_of], offset)
            )
            offset += padded(nbytes(rows, columns, kind_of))
        write_data(file, tensors)


def write_data(file: BinaryIO, tensors: dict[str, tuple[int, int, str]]) -> None:
    draw = np.random.default_rng(SEED)
    file.write(bytes(-file.tell() % ALIGNMENT))
    for rows, columns, kind in tensors.values():
        values = np.ones(columns, np.float32) if not rows else drawn(draw, rows * columns, kind)
        file.write(values.tobytes())
        file.write(bytes(-file.tell() % ALIGNMENT))


def tensors_of(shape: DecoderShape, kind: str) -> Iterator[tuple[str, tuple[int, int, str]]]:
    """Names of tensors, with rows (0: a vector), columns and type."""
    keys = shape.key_heads * shape.each
    yield "token_embd.weight", (shape.vocabulary, shape.width, kind)
    yield "output.weight", (shape.vocabulary, shape.width, kind)
    yield "output_norm.weight", (0, shape.width, "F32")
    for layer in range(shape.layers):
        prefix = f"blk.{layer}."
        for norm in ("attn_norm", "ffn_norm"):
            yield f"{prefix}{norm}.weight", (0, shape.width, "F32")
        for name, rows, columns in (
            ("attn_q", shape.width, shape.width),
            ("attn_k", keys, shape.width),
            ("attn_v", keys, shape.width),
            ("attn_output", shape.width, shape.width),
            ("ffn_gate", shape.inner, shape.width),
            ("ffn_up", shape.inner, shape.width),
            ("ffn_down", shape.width, shape.inner),
        ):
            yield f"{prefix}{name}.weight", (rows, columns, kind)


def metadata(shape: DecoderShape, kind: str) -> dict[str, str | int | float]:
    return {
        "general.architecture": "llama",
        "general.file_type": FILE_TYPES[kind],
        "llama.context_length": shape.positions,
        "llama.embedding_length": shape.width,
        "llama.block_count": shape.layers,
        "llama.feed_forward_length": shape.inner,
        "llama.attention.head_count": shape.heads,
        "llama.attention.head_count_kv": shape.key_heads,
        "llama.attention.layer_norm_rms_epsilon": 1e-5,
        "llama.rope.dimension_count": shape.each,
        "llama.vocab_size": shape.vocabulary,
        "tokenizer.ggml.model": "none",
    }


def drawn(draw: np.random.Generator, count: int, kind: str) -> Array:
    """The data of a matrix of `count` elements."""
    if kind in ("F32", "BF16"):
        values = draw.standard_normal(count, dtype=np.float32) * np.float32(0.01)
        return values if kind == "F32" else values.astype(ml_dtypes.bfloat16)
    terms, size = BLOCK_BYTES[kind]
    blocks = np.empty((count // terms, size), np.uint8)
    blocks[:, :2] = np.frombuffer(np.float16(1.25e-3 * 2.0 ** (-4 * (kind == "Q8_0"))).tobytes(), np.uint8)
    blocks[:, 2:] = draw.integers(0, 256, (len(blocks), size - 2), dtype=np.uint8)
    return blocks


def nbytes(rows: int, columns: int, kind: str) -> int:
    terms, size = BLOCK_BYTES[kind]
    return max(rows, 1) * columns // terms * size


def padded(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT


def text(value: str) -> bytes:
    encoded_text = value.encode()
    return struct.pack("<Q", len(encoded_text)) + encoded_text


def encoded(value: str | int | float) -> bytes:
    """A value with its type: 4 is u32, 6 float32, 8 text."""
    if isinstance(value, str):
        return struct.pack("<I", 8) + text(value)
    return struct.pack("<If", 6, value) if isinstance(value, float) else struct.pack("<II", 4, value)
