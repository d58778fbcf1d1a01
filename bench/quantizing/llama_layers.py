"""Two layers of the shape of a small Llama, with heavy-tailed weights and a few channels of large activations."""

from __future__ import annotations

import numpy as np

import sardonyx as sx
from sardonyx._src.ir import Array, Value

WIDTH, HIDDEN, HEADS, LAYERS = 256, 704, 4, 2
TOKENS, RUNS = 48, 6  # of a run; of calibration, and of the test
OUTLIERS = 4  # channels that a normalization makes ten times as large, as trained ones have them


class LlamaLayers:
    """Builds the model [1, TOKENS, WIDTH] to the same shape; weights of Student's t with 5 degrees of freedom."""

    def __init__(self) -> None:
        self.draw = np.random.default_rng(5)
        self.b = sx.Builder(opset=21, name="llama layers")

    def weight(self, rows: int, columns: int) -> Array:
        return np.asarray(self.draw.standard_t(5, (rows, columns)) / np.sqrt(1.7 * rows), np.float32)

    def norm(self, x: Value) -> Value:
        b = self.b
        scales = np.abs(self.draw.normal(1, 0.2, WIDTH)).astype(np.float32)
        scales[self.draw.integers(0, WIDTH, OUTLIERS)] *= 10
        mean = b.ReduceMean(b.Mul(x, x), np.array([-1], np.int64), keepdims=1)
        return b.Mul(b.Div(x, b.Sqrt(b.Add(mean, np.float32(1e-6)))), scales)

    def heads(self, x: Value, *perm: int) -> Value:
        split = self.b.Reshape(x, np.array([0, -1, HEADS, WIDTH // HEADS], np.int64))
        return self.b.Transpose(split, perm=[0, *perm])

    def attention(self, x: Value) -> Value:
        b = self.b
        q, k, v = (b.MatMul(x, self.weight(WIDTH, WIDTH)) for _ in range(3))
        scores = b.MatMul(self.heads(q, 2, 1, 3), self.heads(k, 2, 3, 1))
        scaled = b.Mul(scores, np.float32((WIDTH // HEADS) ** -0.5))
        mixed = b.MatMul(b.Softmax(scaled, axis=-1), self.heads(v, 2, 1, 3))
        joined = b.Reshape(b.Transpose(mixed, perm=[0, 2, 1, 3]), np.array([0, -1, WIDTH], np.int64))
        return b.MatMul(joined, self.weight(WIDTH, WIDTH))

    def gate(self, x: Value) -> Value:
        b = self.b
        gate = b.MatMul(x, self.weight(WIDTH, HIDDEN))
        product = b.Mul(b.Mul(gate, b.Sigmoid(gate)), b.MatMul(x, self.weight(WIDTH, HIDDEN)))
        return b.MatMul(product, self.weight(HIDDEN, WIDTH))

    def build(self) -> sx.Model:
        x = self.b.input("x", "float32", [1, TOKENS, WIDTH])
        for _ in range(LAYERS):
            x = self.b.Add(x, self.attention(self.norm(x)))
            x = self.b.Add(x, self.gate(self.norm(x)))
        return self.b.model(y=x)


def llama_layers() -> sx.Model:
    return LlamaLayers().build()


def llama_feeds(seed: int) -> list[dict[str, Array]]:
    draw = np.random.default_rng(seed)
    return [{"x": draw.standard_normal((1, TOKENS, WIDTH)).astype(np.float32)} for _ in range(RUNS)]
