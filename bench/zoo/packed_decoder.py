"""A decoder with weights of 4 bits, as onnxruntime-genai writes it: MatMulNBits and GroupQueryAttention.

Drawn weights; the shape is a small Llama's: 0.3 billion parameters with the embedding.  The file has its weights beside it.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

import sardonyx as sx
from measure import BUILD
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array, Model, Value

LAYERS, WIDTH, INNER, HEADS, KEY_HEADS, VOCABULARY, POSITIONS = 8, 2048, 4096, 32, 8, 16_000, 512
EACH = WIDTH // HEADS
BLOCK = 32
PAST = 4  # tokens before the one that is fed
VENDOR = "com.microsoft"


class PackedDecoder:
    def __init__(self) -> None:
        self.b = sx.ir.GraphBuilder(21, name="packed_decoder")
        self.b.imports[VENDOR] = 1
        self.draw = np.random.default_rng(7)

    def model(self) -> Model:
        b = self.b
        ids = b.input("input_ids", DataType.INT64, ["batch", "length"])
        mask = b.input("attention_mask", DataType.INT64, ["batch", "total"])
        last = b.Cast(b.Sub(b.ReduceSum(mask, self.constant([1]), keepdims=0), self.constant(1)), to=6)
        total = b.Cast(b.Gather(b.Shape(mask), self.constant(1), axis=0), to=6)
        angles = np.outer(np.arange(POSITIONS), 1e4 ** -(np.arange(0, EACH, 2) / EACH)).astype(np.float32)
        tables = [b.constant("cos", np.cos(angles)), b.constant("sin", np.sin(angles))]
        table = self.draw.standard_normal((VOCABULARY, WIDTH), dtype=np.float32)
        residual = b.Gather(b.constant("embedding", table), ids)
        x = b.op("SimplifiedLayerNormalization", residual, self.ones("norm"), epsilon=1e-5, axis=-1)
        present: dict[str, Value] = {}
        for i in range(LAYERS):
            past = [self.past(f"past.{i}.{part}") for part in ("key", "value")]
            heads = [
                self.linear(x, f"{i}.{part}", size)
                for part, size in zip("qkv", (WIDTH, KEY_HEADS * EACH, KEY_HEADS * EACH), strict=True)
            ]
            mixed, *now = b.node(
                "GroupQueryAttention",
                [*heads, *past, last, total, *tables],
                3,
                domain=VENDOR,
                num_heads=HEADS,
                kv_num_heads=KEY_HEADS,
                do_rotary=1,
                scale=EACH**-0.5,
            ).outputs
            present |= {f"present.{i}.{part}": v for part, v in zip(("key", "value"), now, strict=True)}
            x, residual = self.add_and_normalize(
                residual, self.linear(mixed, f"{i}.out", WIDTH), f"{i}.norm1"
            )
            gate = self.linear(x, f"{i}.gate", INNER)
            product = b.Mul(b.Mul(gate, b.Sigmoid(gate)), self.linear(x, f"{i}.up", INNER))
            x, residual = self.add_and_normalize(
                residual, self.linear(product, f"{i}.down", WIDTH), f"{i}.norm2"
            )
        for name, value in {"logits": self.linear(x, "head", VOCABULARY), **present}.items():
            b.output(value, name)
        return b.model()

    def past(self, name: str) -> Value:
        return self.b.input(name, DataType.FLOAT, ["batch", KEY_HEADS, "past", EACH])

    def add_and_normalize(self, residual: Value, x: Value, name: str) -> tuple[Value, Value]:
        """The normalized sum, and the sum."""
        inputs = [residual, x, self.ones(name)]
        outputs = self.b.node(
            "SkipSimplifiedLayerNormalization", inputs, 4, domain=VENDOR, epsilon=1e-5
        ).outputs
        return outputs[0], outputs[3]

    def linear(self, x: Value, name: str, columns: int) -> Value:
        k = x_width(name)
        codes = self.draw.integers(0, 256, (columns, k // BLOCK, BLOCK // 2), dtype=np.uint8)
        scales = (self.draw.random(columns * k // BLOCK, dtype=np.float32) * 2e-3 + 1e-4).astype(np.float32)
        operands = [x, self.b.constant(f"{name}.codes", codes), self.b.constant(f"{name}.scales", scales)]
        sizes = {"K": k, "N": columns, "bits": 4, "block_size": BLOCK, "accuracy_level": 4}
        return self.b.node("MatMulNBits", operands, domain=VENDOR, **sizes).outputs[0]  # type: ignore[arg-type]

    def ones(self, name: str) -> Value:
        return self.b.constant(name, np.ones(WIDTH, np.float32))

    def constant(self, value: object) -> Value:
        return self.b.constant(f"constant {len(self.b.graph.initializers)}", np.array(value, np.int64))


def x_width(name: str) -> int:
    """The terms of a product by its name."""
    return INNER if name.endswith(".down") else WIDTH


def decoder_path() -> Path:
    """The path of the file, which is made if it is missing."""
    path = BUILD / "zoo" / "packed_decoder.onnx"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        sx.save(PackedDecoder().model(), path, external="packed_decoder.data")
    return path


def decoder_feeds() -> dict[str, Array]:
    """The feeds of a step after PAST tokens."""
    past = np.zeros((1, KEY_HEADS, PAST, EACH), np.float32)
    return {
        "input_ids": np.ones((1, 1), np.int64),
        "attention_mask": np.ones((1, PAST + 1), np.int64),
        **{f"past.{i}.{part}": past for i in range(LAYERS) for part in ("key", "value")},
    }
