"""Writes the exports of this folder by PyTorch 2.13 and onnxscript 0.7: two small networks by both exporters, and for training.

python tests/train/exports/make.py

Node metadata of the exporters, as stack traces, are left out of the files.
"""

from __future__ import annotations

import io
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import nn

import sardonyx as sx

if TYPE_CHECKING:
    from torch import Tensor

FOLDER, OPSET = Path(__file__).parent, 17


class Block(nn.Module):  # type: ignore[misc]  # PyTorch is skipped by the type checker
    """A transformer block with a mask, a window and a scale of its branches; the first two are buffers."""

    def __init__(self, width: int = 8, heads: int = 2) -> None:
        super().__init__()
        self.count, self.norm = heads, nn.LayerNorm(width)
        self.heads, self.joined = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.wide, self.narrow = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)
        self.gamma, self.scale = nn.Parameter(torch.ones(width) * 0.1), nn.Parameter(torch.tensor(0.5))
        self.register_buffer("mask", torch.tril(torch.ones(4, 4)))
        self.register_buffer("window", torch.hann_window(4).reshape(1, 4, 1))

    def forward(self, x: Tensor) -> Tensor:
        rows, length, width = x.shape
        parts = self.heads(self.norm(x * self.window)).reshape(rows, length, 3, self.count, -1)
        q, k, v = parts.permute(2, 0, 3, 1, 4).unbind(0)
        scores = (q @ k.transpose(-1, -2) / (width // self.count) ** 0.5).masked_fill(self.mask == 0, -1e9)
        x = x + self.gamma * self.joined(
            (scores.softmax(-1) @ v).transpose(1, 2).reshape(rows, length, width)
        )
        return x + self.scale * self.narrow(nn.functional.gelu(self.wide(x)))


class Encoder(nn.Module):  # type: ignore[misc]  # PyTorch is skipped by the type checker
    """Two blocks on embeddings of words and places."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(9, 8), nn.Parameter(torch.randn(4, 8))
        self.blocks, self.norm, self.classes = (
            nn.Sequential(Block(), Block()),
            nn.LayerNorm(8),
            nn.Linear(8, 5),
        )
        self.register_buffer("mean", torch.randn(8))

    def forward(self, x: Tensor) -> Tensor:
        return self.classes(self.norm(self.blocks(self.words(x) + self.places - self.mean)))


class Images(nn.Module):  # type: ignore[misc]  # PyTorch is skipped by the type checker
    """Convolutions with norms and a recurrent layer on normalized images."""

    def __init__(self) -> None:
        super().__init__()
        self.stem, self.norm, self.slope = nn.Conv2d(3, 4, 3, bias=False), nn.BatchNorm2d(4), nn.PReLU(4)
        self.up, self.groups = nn.ConvTranspose2d(4, 4, 2, stride=2), nn.GroupNorm(2, 4)
        self.recurrent, self.classes = nn.LSTM(4 * 8, 4, batch_first=True), nn.Linear(4, 1)
        self.gain = nn.Parameter(torch.full((4, 1, 1), 0.5))
        self.register_buffer("mean", torch.tensor([0.485, 0.456, 0.406]).reshape(1, 3, 1, 1))
        self.register_buffer("deviation", torch.tensor([0.229, 0.224, 0.225]).reshape(1, 3, 1, 1))

    def forward(self, x: Tensor) -> Tensor:
        x = self.slope(self.norm(self.stem((x - self.mean) / self.deviation)))
        x = self.gain * self.groups(self.up(x))
        return self.classes(self.recurrent(x.permute(0, 2, 1, 3).flatten(2))[0][:, -1])


def write(name: str, data: bytes) -> None:
    model = sx.load(data)
    for node in model.graph.nodes:
        node.metadata.clear()
        for value in node.outputs:
            value.metadata.clear()
    model.metadata.clear()
    model.graph.metadata.clear()
    sx.save(model, FOLDER / f"{name}.onnx")


def export(name: str, network: nn.Module, x: Tensor) -> None:
    """The three exports of a network."""
    for kind, mode in (
        ("inference", torch.onnx.TrainingMode.EVAL),
        ("training", torch.onnx.TrainingMode.TRAINING),
    ):
        file = io.BytesIO()
        arguments = {"training": mode, "opset_version": OPSET, "input_names": ["x"], "dynamo": False}
        network.train(kind == "training")
        torch.onnx.export(network, (x,), file, do_constant_folding=kind == "inference", **arguments)
        write(f"{name}_{kind}", file.getvalue())
    program = torch.onnx.export(network.eval(), (x,), dynamo=True, input_names=["x"])
    write(f"{name}_dynamo", program.model_proto.SerializeToString())


def main() -> None:
    warnings.simplefilter("ignore")
    torch.manual_seed(0)
    export("encoder", Encoder(), torch.randint(0, 9, (2, 4)))
    export("images", Images(), torch.randn(2, 3, 6, 6))


if __name__ == "__main__":
    main()
