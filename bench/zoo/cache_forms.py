"""Decoders with weights of 4 bits whose caches have other forms: Concat of torch, and TensorScatter of the standard."""

from __future__ import annotations

from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Value
from zoo.packed_decoder import PackedDecoder


class StandardDecoder(PackedDecoder):
    """Attention and rotary embedding of ai.onnx, with heads as an axis of the caches.

    positions: of the new tokens.  operands, attributes: of Attention, after queries, keys and values.
    """

    opset = 24
    positions: Value
    operands: list[Value | None]
    attributes: dict[str, int]

    def attend(self, heads: list[Value], past: list[Value]) -> tuple[Value, ...]:
        b, shape = self.b, self.shape
        counts = (shape.heads, shape.key_heads, shape.key_heads)
        q, k, v = (self.split_heads(x, count) for x, count in zip(heads, counts, strict=True))
        q, k = (b.RotaryEmbedding(x, *self.tables, self.positions) for x in (q, k))
        present = [self.update(cache, new) for cache, new in zip(past, (k, v), strict=True)]
        mixed = b.op("Attention", q, *present, *self.operands, **self.attributes)  # type: ignore[arg-type]
        size = self.constant([0, 0, shape.heads * shape.each])
        return b.Reshape(b.Transpose(mixed, perm=[0, 2, 1, 3]), size), *present

    def split_heads(self, x: Value, count: int) -> Value:
        """[batch, length, count * each] as [batch, count, length, each]."""
        size = self.constant([0, 0, count, self.shape.each])
        return self.b.Transpose(self.b.Reshape(x, size), perm=[0, 2, 1, 3])

    def update(self, cache: Value, new: Value) -> Value:
        raise NotImplementedError


class ConcatDecoder(StandardDecoder):
    """Caches that grow by Concat, and a mask of the keys that each token sees."""

    def add_counts(self, ids: Value) -> None:
        b = self.b
        mask = b.input("attention_mask", DataType.INT64, ["batch", "total"])
        self.positions = b.input("position_ids", DataType.INT64, ["batch", "length"])
        total, length = (b.Gather(b.Shape(x), self.constant(1), axis=0) for x in (mask, ids))
        places = b.Range(self.constant(0), total, self.constant(1))
        latest = b.Unsqueeze(b.Range(b.Sub(total, length), total, self.constant(1)), self.constant([1]))
        self.operands = [b.LessOrEqual(places, latest)]
        self.attributes = {}

    def update(self, cache: Value, new: Value) -> Value:
        return self.b.Concat(cache, new, axis=2)


class ScatterDecoder(StandardDecoder):
    """Caches of a fixed size, into which TensorScatter writes new tokens."""

    def add_counts(self, ids: Value) -> None:
        b = self.b
        self.positions = b.input("position_ids", DataType.INT64, ["batch", "length"])
        self.starts = b.input("write_indices", DataType.INT64, ["batch"])
        self.operands = [None, None, None, b.input("nonpad_kv_seqlen", DataType.INT64, ["batch"])]
        self.attributes = {"is_causal": 1}

    def past(self, name: str) -> Value:
        shape: list[int | str] = ["batch", self.shape.key_heads, self.shape.positions, self.shape.each]
        return self.b.input(name, DataType.FLOAT, shape)

    def update(self, cache: Value, new: Value) -> Value:
        return self.b.TensorScatter(cache, new, self.starts, axis=2)
