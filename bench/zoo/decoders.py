"""One decode step of GPT-2: a token after those whose keys and values are in the cache."""

from __future__ import annotations

import math

import numpy as np

import sardonyx as sx
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Model, Value

LAYERS, WIDTH, HEADS, POSITIONS, VOCABULARY = 12, 768, 12, 1024, 50257
EACH = WIDTH // HEADS


class Decoder:
    """Builds the step as exporters write it: fused projections that are split, the tanh GELU decomposed."""

    def __init__(self) -> None:
        self.b = sx.ir.GraphBuilder(17, name="gpt2_step")
        self.draw = np.random.default_rng(50)

    def model(self) -> Model:
        b = self.b
        ids, places = (b.input(n, DataType.INT64, ["batch", 1]) for n in ("input_ids", "position_ids"))
        past = [[self.past(f"past.{i}.{part}") for part in ("key", "value")] for i in range(LAYERS)]
        x = b.Add(
            b.Gather(self.weight("tokens", VOCABULARY, WIDTH), ids),
            b.Gather(self.weight("positions", POSITIONS, WIDTH), places),
        )
        present: dict[str, Value] = {}
        for i, (keys, values) in enumerate(past):
            mixed, *now = self.attention(self.normalize(x, f"{i}.norm1"), keys, values, f"{i}")
            present |= {f"present.{i}.{part}": v for part, v in zip(("key", "value"), now, strict=True)}
            x = b.Add(x, mixed)
            x = b.Add(x, self.feed_forward(self.normalize(x, f"{i}.norm2"), f"{i}"))
        logits = b.MatMul(self.normalize(x, "norm"), self.weight("head", WIDTH, VOCABULARY))
        for name, value in {"logits": logits, **present}.items():
            b.output(value, name)
        return sx.infer(b.model())

    def past(self, name: str) -> Value:
        return self.b.input(name, DataType.FLOAT, ["batch", HEADS, "past", EACH])

    def attention(self, x: Value, keys: Value, values: Value, name: str) -> tuple[Value, Value, Value]:
        """The output of attention, and the keys and values with those of the new token."""
        b = self.b
        joined = self.linear(x, f"{name}.qkv", WIDTH, 3 * WIDTH)
        parts = b.node("Split", [joined, self.constant([WIDTH] * 3)], 3, axis=2).outputs
        q, k, v = (self.split(part) for part in parts)
        k, v = b.Concat(keys, k, axis=2), b.Concat(values, v, axis=2)
        scores = b.Div(b.MatMul(q, b.Transpose(k, perm=[0, 1, 3, 2])), self.constant(math.sqrt(EACH)))
        mixed = b.Transpose(b.MatMul(b.Softmax(scores, axis=-1), v), perm=[0, 2, 1, 3])
        mixed = b.Reshape(mixed, self.constant([0, 0, WIDTH]))
        return self.linear(mixed, f"{name}.out", WIDTH, WIDTH, gain=0.5), k, v

    def split(self, x: Value) -> Value:
        """x: [batch, 1, heads * width]; result: [batch, heads, 1, width]."""
        return self.b.Transpose(self.b.Reshape(x, self.constant([0, 0, HEADS, EACH])), perm=[0, 2, 1, 3])

    def feed_forward(self, x: Value, name: str) -> Value:
        h = self.gelu(self.linear(x, f"{name}.up", WIDTH, 4 * WIDTH))
        return self.linear(h, f"{name}.down", 4 * WIDTH, WIDTH, gain=0.5)

    def gelu(self, x: Value) -> Value:
        b = self.b
        cubic = b.Add(x, b.Mul(b.Pow(x, self.constant(3.0)), self.constant(0.044715)))
        bent = b.Tanh(b.Mul(cubic, self.constant(math.sqrt(2 / math.pi))))
        return b.Mul(b.Mul(x, self.constant(0.5)), b.Add(bent, self.constant(1.0)))

    def linear(self, x: Value, name: str, before: int, after: int, *, gain: float = 1.0) -> Value:
        product = self.b.MatMul(x, self.weight(f"{name}.weight", before, after, gain=gain))
        return self.b.Add(product, self.vector(f"{name}.bias", after, 0.0))

    def normalize(self, x: Value, name: str) -> Value:
        scale, shift = self.vector(f"{name}.scale", WIDTH, 1.0), self.vector(f"{name}.shift", WIDTH, 0.0)
        return self.b.LayerNormalization(x, scale, shift, axis=-1, epsilon=1e-5)

    # --- constants ----------------------------------------------------------------------------

    def weight(self, name: str, before: int, after: int, *, gain: float = 1.0) -> Value:
        rows = self.draw.standard_normal((before, after), np.float32)
        rows *= np.float32(gain / math.sqrt(min(before, WIDTH * 4)))
        return self.b.constant(name, rows)

    def vector(self, name: str, n: int, middle: float) -> Value:
        values = self.draw.standard_normal(n, np.float32) * np.float32(0.1) + np.float32(middle)
        return self.b.constant(name, values)

    def constant(self, value: float | list[int]) -> Value:
        """A small constant, shared by all its uses."""
        name = f"constant {value}"
        existing = self.b.graph.initializers.get(name)
        dtype = np.float32 if isinstance(value, float) else np.int64
        return existing if existing is not None else self.b.constant(name, np.array(value, dtype))


def gpt2_step() -> Model:
    return Decoder().model()
