"""Benchmark models, built from their architectures with seeded random weights."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import sardonyx as sx
from measure import BUILD, FOLDER
from sardonyx._src.dtypes import DataType
from sardonyx._src.io.serde import to_proto
from sardonyx._src.ir import Model, Value
from sardonyx._src.proto import messages as m
from sardonyx._src.proto.binary import encode

sys.path.append(str(FOLDER.parent / "tests"))
from infer.encoder import Encoder  # shared with the tests

WIDTH, LAYERS, VOCABULARY = 768, 12, 32000


def decoder() -> Path:
    """A decoder of 12 layers, 768 wide, weights inline: about 440 MB."""
    path = BUILD / "decoder.onnx"
    if not path.exists():
        BUILD.mkdir(exist_ok=True)
        sx.save(decoder_model(), path, external=False)
    return path


def decoder_external(*, checksum: bool = False) -> Path:
    """The same decoder with its weights in a data file, whose checksum the model states on demand."""
    path = BUILD / ("decoder_checksum.onnx" if checksum else "decoder_external.onnx")
    if not path.exists():
        sx.save(sx.load(decoder()), path, external=True, checksum=checksum)
    return path


def decoder_model() -> Model:
    rng = np.random.default_rng(0)
    b = sx.ir.GraphBuilder(opset=21, name="decoder")

    def weight(name: str, *shape: int) -> Value:
        return b.constant(name, rng.standard_normal(shape, np.float32) * np.float32(0.02))

    ids = b.input("ids", DataType.INT64, ["B", "S"])
    x = b.Gather(weight("embedding", VOCABULARY, WIDTH), ids)
    for i in range(LAYERS):
        h = b.LayerNormalization(x, weight(f"{i}.norm1", WIDTH))
        parts = [b.MatMul(h, weight(f"{i}.{n}", WIDTH, WIDTH)) for n in "qkv"]
        split = b.constant(f"{i}.heads", np.array([0, 0, 12, 64]))
        q, k, v = (b.Transpose(b.Reshape(p, split), perm=[0, 2, 1, 3]) for p in parts)
        scores = b.Softmax(b.MatMul(q, b.Transpose(k, perm=[0, 1, 3, 2])), axis=-1)
        mixed = b.Reshape(
            b.Transpose(b.MatMul(scores, v), perm=[0, 2, 1, 3]), b.constant(f"{i}.join", np.array([0, 0, -1]))
        )
        x = b.Add(x, b.MatMul(mixed, weight(f"{i}.o", WIDTH, WIDTH)))
        h = b.LayerNormalization(x, weight(f"{i}.norm2", WIDTH))
        h = b.Gelu(b.Add(b.MatMul(h, weight(f"{i}.up", WIDTH, 4 * WIDTH)), weight(f"{i}.up.bias", 4 * WIDTH)))
        x = b.Add(x, b.MatMul(h, weight(f"{i}.down", 4 * WIDTH, WIDTH)))
    b.output(b.MatMul(x, weight("head", WIDTH, 1024)), "logits", b.tensor(DataType.FLOAT, ["B", "S", 1024]))
    return b.model()


def encoder() -> Path:
    """An encoder of 11 layers, 768 wide, about 600 nodes, weights inline: 366 MB."""
    path = BUILD / "encoder.onnx"
    if not path.exists():
        BUILD.mkdir(exist_ok=True)
        sx.save(Encoder(11, WIDTH, 12, 16_384, copied=True).model(), path, external=False)
    return path


def detector() -> Path:
    """The shared detector of 1,604 nodes, or if it is missing, a generated network with as many nodes."""
    given = FOLDER.parent.parent / "shared/models/picodet_s_320/model.onnx"
    path = BUILD / "detector.onnx"
    if given.exists() or path.exists():
        return given if given.exists() else path
    BUILD.mkdir(exist_ok=True)
    sx.save(detector_model(), path)
    return path


def detector_model() -> Model:
    """Convolutions, norms and hard swishes with their constants as nodes: 15 nodes a block, 9 of them constants."""
    rng = np.random.default_rng(320)
    b = sx.ir.GraphBuilder(opset=11, name="detector")

    def constant(*shape: int) -> Value:
        return b.Constant(value=rng.random(shape, np.float32))

    x, channels = b.input("image", DataType.FLOAT, [1, 3, 320, 320]), 3
    for i in range(107):
        width = 24 * (1 + i // 31)
        strides = [2, 2] if i % 31 == 0 else [1, 1]
        y = b.Conv(
            x, constant(width, channels, 3, 3), kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=strides
        )
        y = b.BatchNormalization(y, *(constant(width) for _ in range(4)))
        x = b.Mul(y, b.Div(b.Clip(b.Add(y, constant()), constant(), constant()), constant()))
        channels = width
    return b.model(features=x)


def chain() -> Path:
    """A graph of 20,000 small nodes."""
    path = BUILD / "chain.onnx"
    if not path.exists():
        BUILD.mkdir(exist_ok=True)
        b = sx.ir.GraphBuilder(opset=21, name="chain")
        x = b.input("x", DataType.FLOAT, ["N", 8])
        values = [x]
        for i in range(20_000):
            last, older = values[-1], values[max(0, len(values) - 3)]
            kind = i % 4
            values.append(
                b.Add(last, older, name=f"add_{i}")
                if kind == 0
                else b.Mul(last, older, name=f"mul_{i}")
                if kind == 1
                else b.Relu(last, name=f"relu_{i}")
                if kind == 2
                else b.Softmax(last, axis=-1, name=f"softmax_{i}")
            )
        b.output(values[-1], "y", b.tensor(DataType.FLOAT, ["N", 8]))
        sx.save(b.model(), path)
    return path


def typed_fields() -> Path:
    """A model of 2.4 MB with its weights in `float_data` and `int64_data`, which text formats write as numbers."""
    path = BUILD / "typed_fields.onnx"
    if not path.exists():
        BUILD.mkdir(exist_ok=True)
        rng = np.random.default_rng(0)
        floats = rng.standard_normal(450_000, np.float32).tolist()
        integers = rng.integers(0, 128, 600_000).tolist()
        b = sx.ir.GraphBuilder(opset=21, name="typed_fields")
        b.output(b.Relu(b.input("x", DataType.FLOAT, [2])), "y", b.tensor(DataType.FLOAT, [2]))
        record = to_proto.model(b.model())
        assert record.graph is not None, "a model has a graph"
        record.graph.initializer = [
            m.TensorProto(name="w", data_type=DataType.FLOAT, dims=[len(floats)], float_data=floats),
            m.TensorProto(name="i", data_type=DataType.INT64, dims=[len(integers)], int64_data=integers),
        ]
        path.write_bytes(encode(record))
    return path
