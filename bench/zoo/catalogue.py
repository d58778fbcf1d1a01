"""The networks by name: how each is made, and with what it is fed.

Files are made at their first use, in `.bench/zoo`; delete the folder to have them made anew.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np

import sardonyx as sx
from measure import BUILD
from sardonyx._src.ir import Array, Model, TensorType, Value
from sardonyx._src.ir.dims import evaluate
from zoo import decoders, encoders, mobile, perceptron, residual, segmentation
from zoo.stored import load_stored

FOLDER = BUILD / "zoo"
SEED = 1
Feeds = dict[str, Array]


@dataclass(frozen=True)
class Entry:
    """A network under certain lengths of its dimension variables."""

    file: str
    make: Callable[[], Model]
    sizes: Mapping[str, int] = field(default_factory=dict)
    tops: Mapping[str, int] = field(default_factory=dict)  # integer inputs are below these; others are 1

    def path(self, folder: Path = FOLDER) -> Path:
        """The path of the network's file, which is built if it is missing."""
        path = folder / f"{self.file}.onnx"
        if not path.exists():
            folder.mkdir(parents=True, exist_ok=True)
            sx.save(self.make(), part := path.with_suffix(".part.onnx"), external=False)
            part.rename(path)
        return path

    def feeds(self, folder: Path = FOLDER) -> Feeds:
        """Random values for all inputs, the same in every run."""
        draw = np.random.default_rng(SEED)
        inputs = sx.load(self.path(folder)).graph.inputs
        return {v.name: self.value(v, draw) for v in inputs if v.initializer is None}

    def value(self, port: Value, draw: np.random.Generator) -> Array:
        assert isinstance(port.type, TensorType) and port.type.shape is not None, f"{port.name} has no shape"
        sizes = [evaluate(dim, self.sizes) for dim in port.type.shape if dim is not None]
        shape = [size for size in sizes if size is not None]
        assert len(shape) == len(sizes), f"{port.name}: {port.type} under {self.sizes}"
        if port.type.dtype.is_integer:
            top = self.tops.get(port.name)
            numbers = np.ones(shape) if top is None else draw.integers(0, top, shape)
            return numbers.astype(port.type.dtype.numpy)
        return draw.standard_normal(shape, np.float32)


TEXT = {"input_ids": encoders.VOCABULARY, "token_type_ids": 2}
STORED = "alexnet zfnet512 vgg19 inception_v1 inception_v2 densenet121 squeezenet shufflenet".split()

ENTRIES: dict[str, Entry] = {
    "mlp_1": Entry("mlp", perceptron.mlp, {"N": 1}),
    "mlp_1000": Entry("mlp", perceptron.mlp, {"N": 1000}),
    "deep_mlp_64": Entry("deep_mlp", perceptron.deep_mlp, {"N": 64}),
    "resnet50": Entry("resnet50", residual.resnet50, {"N": 1}),
    "resnet50_8": Entry("resnet50", residual.resnet50, {"N": 8}),
    "mobilenet_v2": Entry("mobilenet_v2", mobile.mobilenet_v2, {"N": 1}),
    "efficientnet_b0": Entry("efficientnet_b0", mobile.efficientnet_b0, {"N": 1}),
    "unet": Entry("unet", segmentation.unet, {"N": 1}),
    "bert_base": Entry("bert_base", encoders.bert_base, {"batch": 1, "sequence": 128}, TEXT),
    "encoder_1x16": Entry("encoder", encoders.encoder, {"batch": 1, "sequence": 16}, TEXT),
    "encoder_1x128": Entry("encoder", encoders.encoder, {"batch": 1, "sequence": 128}, TEXT),
    "encoder_8x64": Entry("encoder", encoders.encoder, {"batch": 8, "sequence": 64}, TEXT),
    "gpt2_step": Entry(
        "gpt2_step",
        decoders.gpt2_step,
        {"batch": 1, "past": 64},
        {"input_ids": decoders.VOCABULARY, "position_ids": decoders.POSITIONS},
    ),
    "resnet50_stored": Entry("resnet50_stored", partial(load_stored, "resnet50")),
    **{
        name: Entry(name, partial(load_stored, name if name != "alexnet" else "bvlc_alexnet"))
        for name in STORED
    },
}
