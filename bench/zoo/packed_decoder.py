"""A decoder with weights of 4 or 8 bits, as onnxruntime-genai writes it: MatMulNBits and GroupQueryAttention.

Weights are drawn, and may also be float32, or bfloat16 that the model casts to float32.  The shape is a small Llama's: 0.3
billion parameters with the embedding.  The file has its weights beside it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

import ml_dtypes
import numpy as np

import sardonyx as sx
from measure import BUILD
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array, Model, Value

PAST = 4  # tokens before the one that is fed
VENDOR = "com.microsoft"
Weights: TypeAlias = Literal["4 bits", "8 bits", "float32", "bfloat16"]


@dataclass(frozen=True)
class DecoderShape:
    """The sizes of a Llama.

    block: terms that have one scale, of weights of 4 and 8 bits.
    """

    layers: int = 8
    width: int = 2048
    inner: int = 4096
    heads: int = 32
    key_heads: int = 8
    vocabulary: int = 16_000
    positions: int = 512
    block: int = 32
    weights: Weights = "4 bits"

    @property
    def each(self) -> int:
        """The width of a head."""
        return self.width // self.heads


DEFAULT = DecoderShape()


class PackedDecoder:
    opset = 21

    def __init__(self, shape: DecoderShape = DEFAULT) -> None:
        self.shape = shape
        self.b = sx.ir.GraphBuilder(self.opset, name="packed_decoder")
        self.b.imports[VENDOR] = 1
        self.draw = np.random.default_rng(7)

    def model(self) -> Model:
        b = self.b
        ids = b.input("input_ids", DataType.INT64, ["batch", "length"])
        self.add_counts(ids)
        angles = np.outer(
            np.arange(self.shape.positions), 1e4 ** -(np.arange(0, self.shape.each, 2) / self.shape.each)
        ).astype(np.float32)
        self.tables = [b.constant("cos", np.cos(angles)), b.constant("sin", np.sin(angles))]
        table = self.draw.standard_normal((self.shape.vocabulary, self.shape.width), dtype=np.float32)
        residual = b.Gather(b.constant("embedding", table), ids)
        x = b.op("SimplifiedLayerNormalization", residual, self.ones("norm"), epsilon=1e-5, axis=-1)
        present: dict[str, Value] = {}
        for i in range(self.shape.layers):
            past = [self.past(f"past.{i}.{part}") for part in ("key", "value")]
            heads = [
                self.linear(x, f"{i}.{part}", size)
                for part, size in zip(
                    "qkv",
                    (
                        self.shape.width,
                        self.shape.key_heads * self.shape.each,
                        self.shape.key_heads * self.shape.each,
                    ),
                    strict=True,
                )
            ]
            mixed, *now = self.attend(heads, past)
            present |= {f"present.{i}.{part}": v for part, v in zip(("key", "value"), now, strict=True)}
            x, residual = self.add_and_normalize(
                residual, self.linear(mixed, f"{i}.out", self.shape.width), f"{i}.norm1"
            )
            gate = self.linear(x, f"{i}.gate", self.shape.inner)
            product = b.Mul(b.Mul(gate, b.Sigmoid(gate)), self.linear(x, f"{i}.up", self.shape.inner))
            x, residual = self.add_and_normalize(
                residual, self.linear(product, f"{i}.down", self.shape.width), f"{i}.norm2"
            )
        for name, value in {"logits": self.linear(x, "head", self.shape.vocabulary), **present}.items():
            b.output(value, name)
        return b.model()

    def add_counts(self, ids: Value) -> None:
        """The inputs that count tokens, and what attention needs of them.  ids: the new tokens."""
        b = self.b
        mask = b.input("attention_mask", DataType.INT64, ["batch", "total"])
        last = b.Cast(b.Sub(b.ReduceSum(mask, self.constant([1]), keepdims=0), self.constant(1)), to=6)
        self.counts = [last, b.Cast(b.Gather(b.Shape(mask), self.constant(1), axis=0), to=6)]

    def attend(self, heads: list[Value], past: list[Value]) -> tuple[Value, ...]:
        """The result of attention, and the present keys and values.  heads: queries, keys and values of the new tokens."""
        return self.b.node(
            "GroupQueryAttention",
            [*heads, *past, *self.counts, *self.tables],
            3,
            domain=VENDOR,
            num_heads=self.shape.heads,
            kv_num_heads=self.shape.key_heads,
            do_rotary=1,
            scale=self.shape.each**-0.5,
        ).outputs

    def past(self, name: str) -> Value:
        return self.b.input(name, DataType.FLOAT, ["batch", self.shape.key_heads, "past", self.shape.each])

    def add_and_normalize(self, residual: Value, x: Value, name: str) -> tuple[Value, Value]:
        """The normalized sum, and the sum."""
        inputs = [residual, x, self.ones(name)]
        outputs = self.b.node(
            "SkipSimplifiedLayerNormalization", inputs, 4, domain=VENDOR, epsilon=1e-5
        ).outputs
        return outputs[0], outputs[3]

    def linear(self, x: Value, name: str, columns: int) -> Value:
        k = self.terms(name)
        if not self.shape.weights.endswith("bits"):
            return self.dense(x, name, k, columns)
        bits = int(self.shape.weights[0])
        codes = self.draw.integers(
            0, 256, (columns, k // self.shape.block, self.shape.block * bits // 8), dtype=np.uint8
        )
        scales = (self.draw.random(columns * k // self.shape.block, dtype=np.float32) * 2e-3 + 1e-4).astype(
            np.float32
        ) * np.float32(2.0 ** (4 - bits))
        operands = [x, self.b.constant(f"{name}.codes", codes), self.b.constant(f"{name}.scales", scales)]
        sizes = {"K": k, "N": columns, "bits": bits, "block_size": self.shape.block, "accuracy_level": 4}
        return self.b.node("MatMulNBits", operands, domain=VENDOR, **sizes).outputs[0]  # type: ignore[arg-type]

    def dense(self, x: Value, name: str, k: int, columns: int) -> Value:
        """A product with weights in float32 or bfloat16."""
        weights = self.draw.standard_normal((k, columns), dtype=np.float32) * np.float32(0.01)
        if self.shape.weights == "float32":
            return self.b.MatMul(x, self.b.constant(name, weights))
        rounded = self.b.constant(name, weights.astype(ml_dtypes.bfloat16))
        return self.b.MatMul(x, self.b.Cast(rounded, to=DataType.FLOAT.value))

    def ones(self, name: str) -> Value:
        return self.b.constant(name, np.ones(self.shape.width, np.float32))

    def constant(self, value: object) -> Value:
        return self.b.constant(f"constant {len(self.b.graph.initializers)}", np.array(value, np.int64))

    def terms(self, name: str) -> int:
        """The terms of a product by its name."""
        return self.shape.inner if name.endswith(".down") else self.shape.width


def decoder_path() -> Path:
    """The path of the file, which is made if it is missing."""
    path = BUILD / "zoo" / "packed_decoder.onnx"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        sx.save(PackedDecoder().model(), path, external="packed_decoder.data")
    return path


def decoder_feeds() -> dict[str, Array]:
    """The feeds of a step after PAST tokens."""
    past = np.zeros((1, DEFAULT.key_heads, PAST, DEFAULT.each), np.float32)
    return {
        "input_ids": np.ones((1, 1), np.int64),
        "attention_mask": np.ones((1, PAST + 1), np.int64),
        **{f"past.{i}.{part}": past for i in range(DEFAULT.layers) for part in ("key", "value")},
    }
