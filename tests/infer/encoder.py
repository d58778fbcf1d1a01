"""A BERT-like encoder as exported: decomposed norms and GELU, shapes concatenated from sizes."""

from __future__ import annotations

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array, Model, Value
from sardonyx._src.ir.build import GraphBuilder

POSITIONS = 512


class Encoder:
    """Builds `layers` layers of `heads` heads over `width` features; inputs are [batch, sequence].

    copied: shapes for Reshape are constants that copy batch and sequence by 0, as after constant folding.
    """

    def __init__(self, layers: int, width: int, heads: int, vocabulary: int, *, copied: bool = False) -> None:
        self.b = GraphBuilder(17, name="encoder")
        self.layers, self.width, self.heads, self.vocabulary = layers, width, heads, vocabulary
        self.copied = copied
        self.rng = np.random.default_rng(590)

    def model(self) -> Model:
        b = self.b
        shape = ["batch", "sequence"]
        ids, types, mask = (
            b.input(n, DataType.INT64, shape) for n in ("input_ids", "token_type_ids", "attention_mask")
        )
        x = self.embed(ids, types)
        bias = self.mask_bias(mask, ids)
        for i in range(self.layers):
            x = self.normalize(b.Add(self.attention(x, bias, f"{i}"), x), f"{i}.norm1")
            x = self.normalize(b.Add(self.feed_forward(x, f"{i}"), x), f"{i}.norm2")
        first = b.Gather(x, self.constant(0), axis=1)
        pooled = b.Tanh(
            b.Gemm(
                first, self.weight("pooler", self.width, self.width), self.weight("pooler.bias", self.width)
            )
        )
        return b.model(last_hidden_state=x, pooler_output=pooled)

    # --- sizes --------------------------------------------------------------------------------

    def size(self, x: Value, axis: int) -> Value:
        """The size of one axis as a tensor of one element."""
        return self.b.Unsqueeze(
            self.b.Gather(self.b.Shape(x), self.constant(axis), axis=0), self.constant([0])
        )

    def target(self, x: Value, *rest: int) -> Value:
        """The shape [batch of x, sequence of x, *rest]."""
        if self.copied:
            return self.constant([0, 0, *rest])
        return self.b.Concat(self.size(x, 0), self.size(x, 1), *(self.constant([n]) for n in rest), axis=0)

    # --- parts --------------------------------------------------------------------------------

    def embed(self, ids: Value, types: Value) -> Value:
        b, width = self.b, self.width
        words = b.Gather(self.weight("words", self.vocabulary, width), ids)
        kinds = b.Gather(self.weight("types", 2, width), types)
        numbers = b.constant("position_ids", np.arange(POSITIONS).reshape(1, -1))
        places = b.Slice(
            numbers, self.constant([0]), self.size(ids, 1), self.constant([1]), self.constant([1])
        )
        positions = b.Gather(self.weight("positions", POSITIONS, width), places)
        return self.normalize(b.Add(b.Add(words, kinds), positions), "embedding.norm")

    def mask_bias(self, mask: Value, ids: Value) -> Value:
        """[batch, 1, sequence, sequence]: 0 where a token may be attended to, a large negative number elsewhere."""
        b = self.b
        wide = b.Unsqueeze(b.Unsqueeze(mask, self.constant([1])), self.constant([2]))
        target = b.Concat(self.size(ids, 0), self.constant([1]), self.size(ids, 1), self.size(ids, 1), axis=0)
        ones = b.ConstantOfShape(b.Shape(target), value=np.array([1]))
        chosen = b.Where(
            b.Equal(target, b.Mul(ones, self.constant(-1))), ones, target
        )  # -1 would keep a size
        allowed = b.Cast(b.Expand(wide, chosen), to=DataType.FLOAT)
        return b.Mul(b.Sub(self.constant(1.0), allowed), self.constant(-10000.0))

    def attention(self, x: Value, bias: Value, name: str) -> Value:
        b = self.b
        q, k, v = (self.split(self.linear(x, f"{name}.{part}", self.width), x) for part in "qkv")
        scores = b.Div(b.MatMul(q, b.Transpose(k, perm=[0, 1, 3, 2])), self.constant(8.0))
        mixed = b.Transpose(b.MatMul(b.Softmax(b.Add(scores, bias), axis=-1), v), perm=[0, 2, 1, 3])
        return self.linear(b.Reshape(mixed, self.target(mixed, self.width)), f"{name}.o", self.width)

    def split(self, x: Value, like: Value) -> Value:
        """[batch, heads, sequence, width of a head]."""
        each = self.width // self.heads
        return self.b.Transpose(self.b.Reshape(x, self.target(like, self.heads, each)), perm=[0, 2, 1, 3])

    def feed_forward(self, x: Value, name: str) -> Value:
        b = self.b
        h = self.linear(x, f"{name}.up", 4 * self.width)
        h = b.Mul(
            b.Mul(h, b.Add(b.Erf(b.Div(h, self.constant(2**0.5))), self.constant(1.0))), self.constant(0.5)
        )
        return self.linear(h, f"{name}.down", self.width)

    def linear(self, x: Value, name: str, width: int) -> Value:
        before = 4 * self.width if name.endswith("down") else self.width
        product = self.b.MatMul(x, self.weight(f"{name}.weight", before, width))
        return self.b.Add(self.weight(f"{name}.bias", width), product)

    def normalize(self, x: Value, name: str) -> Value:
        b = self.b
        centered = b.Sub(x, b.ReduceMean(x, axes=[-1]))
        variance = b.ReduceMean(b.Pow(centered, self.constant(2.0)), axes=[-1])
        scaled = b.Div(centered, b.Sqrt(b.Add(variance, self.constant(1e-12))))
        return b.Add(
            b.Mul(scaled, self.weight(f"{name}.scale", self.width)), self.weight(f"{name}.shift", self.width)
        )

    # --- constants ----------------------------------------------------------------------------

    def weight(self, name: str, *shape: int) -> Value:
        values: Array = self.rng.standard_normal(shape, np.float32) * np.float32(0.02)
        return self.b.constant(name, values)

    def constant(self, value: int | float | list[int]) -> Value:
        """A small constant, shared by all its uses."""
        name = f"constant {value}"
        dtype = np.float32 if isinstance(value, float) else np.int64
        existing = self.b.graph.initializers.get(name)
        return existing if existing is not None else self.b.constant(name, np.array(value, dtype))
