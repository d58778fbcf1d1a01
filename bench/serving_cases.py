"""The models of `bench/serving.py`, and the requests that services get for them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

import sardonyx as sx
from zoo.catalogue import ENTRIES, TEXT, Entry
from zoo.encoders import VOCABULARY, Normed

Inputs = Mapping[str, np.ndarray[Any, np.dtype[Any]]]
SEED = 0
LENGTHS = (8, 128)  # of texts, inclusive
TEXTS = 64
DATATYPES = {"float32": "FP32", "int64": "INT64"}


@dataclass(frozen=True)
class Case:
    """A model, requests that are sent in turn, and seconds of each measurement.

    outputs: the requested ones; none: all.
    """

    name: str
    path: Path
    requests: Sequence[Inputs]
    is_small: bool = False  # the peer runs it on the event loop
    is_binary: bool = False  # tensors are sent and returned as binary data
    outputs: Sequence[str] = ()
    seconds: float = 3

    @property
    def model(self) -> str:
        return self.path.stem

    def request_bytes(self) -> list[bytes]:
        """The HTTP requests."""
        return [self.request(inputs) for inputs in self.requests]

    def request(self, inputs: Inputs) -> bytes:
        items = [self.item(name, array) for name, array in inputs.items()]
        message: dict[str, object] = {"inputs": items}
        if self.is_binary:
            message["parameters"] = {"binary_data_output": True}
        if self.outputs:
            message["outputs"] = [{"name": name} for name in self.outputs]
        text = json.dumps(message).encode()
        body = text + b"".join(array.tobytes() for array in inputs.values()) if self.is_binary else text
        lines = [
            f"POST /v2/models/{self.model}/infer HTTP/1.1",
            "Host: localhost",
            *([f"Inference-Header-Content-Length: {len(text)}"] if self.is_binary else []),
            f"Content-Type: application/{'octet-stream' if self.is_binary else 'json'}",
            f"Content-Length: {len(body)}",
        ]
        return "\r\n".join([*lines, "\r\n"]).encode() + body

    def item(self, name: str, array: np.ndarray[Any, np.dtype[Any]]) -> dict[str, object]:
        item: dict[str, object] = {
            "name": name,
            "datatype": DATATYPES[str(array.dtype)],
            "shape": array.shape,
        }
        if self.is_binary:
            return item | {"parameters": {"binary_data_size": array.nbytes}}
        return item | {"data": array.reshape(-1).tolist()}


def cases(folder: Path) -> Iterator[Case]:
    """folder: for the files of small models."""
    rng = np.random.default_rng(SEED)
    image = {"x": rng.random((1, 784), np.float32)}
    yield Case("MLP 784-256-256-10, JSON", mlp(folder / "mlp.onnx", rng), [image], is_small=True)
    yield Case("MLP 784-256-256-10, binary", folder / "mlp.onnx", [image], is_small=True, is_binary=True)
    path = mlp(folder / "small.onnx", rng, (16, 64, 64, 3))
    yield Case("MLP 16-64-64-3, JSON", path, [{"x": rng.random((1, 16), np.float32)}], is_small=True)
    texts = [text_inputs(rng, int(length)) for length in rng.integers(LENGTHS[0], LENGTHS[1] + 1, TEXTS)]
    name = f"encoder of 4 layers, 256 wide, {LENGTHS[0]} to {LENGTHS[1]} tokens, JSON"
    yield Case(name, encoder().path(), texts, outputs=["pooler_output"], seconds=6)
    resnet = ENTRIES["resnet50"]
    yield Case("ResNet-50, binary", resnet.path(), [resnet.feeds()], is_binary=True, seconds=8)


def mlp(path: Path, rng: np.random.Generator, sizes: Sequence[int] = (784, 256, 256, 10)) -> Path:
    """A multilayer perceptron with random weights."""
    builder = sx.Builder(21)
    y = builder.input("x", "FLOAT", ["N", sizes[0]])
    for index, (before, after) in enumerate(pairwise(sizes)):
        weight = (rng.standard_normal((before, after)) / np.sqrt(before)).astype(np.float32)
        y = builder.Gemm(y, weight, np.zeros(after, np.float32))
        y = builder.Relu(y) if index + 2 < len(sizes) else builder.Softmax(y)
    builder.output(y, "y")
    sx.save(builder.model(), path)
    return path


def encoder() -> Entry:
    """A text encoder with random weights."""
    return Entry(
        "encoder_4x256", lambda: sx.infer(Normed(4, 256, 4, VOCABULARY, copied=True).model()), {}, TEXT
    )


def text_inputs(rng: np.random.Generator, length: int) -> Inputs:
    """A text of `length` random words."""
    words = rng.integers(0, VOCABULARY, (1, length))
    return {
        "input_ids": words,
        "token_type_ids": np.zeros_like(words),
        "attention_mask": np.ones_like(words),
    }
