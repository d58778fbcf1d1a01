"""Networks that are trained in a benchmark, as PyTorch modules with their inputs and labels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from torch import Tensor, nn

    from sardonyx._src.ir import Array

SEED, DATA = 0, "data.npz"


@dataclass(frozen=True)
class Network:
    """A module in training mode, an input, the class of each row of its result, and the number of classes.

    words: how many numbers an input of whole numbers may have; 0 for real ones.  trainable: a pattern for the names of the weights
    that change; the others are frozen.
    """

    module: nn.Module
    x: Tensor
    classes: Tensor
    count: int
    words: int = 0
    trainable: str = "*"


@dataclass(frozen=True)
class Minibatches:
    """The data of a network apart from it.  count: of classes; words: how many numbers an input of whole numbers may have, or 0."""

    x: Array
    classes: Array
    count: int
    words: int

    @staticmethod
    def of(network: Network) -> Minibatches:
        return Minibatches(network.x.numpy(), network.classes.numpy(), network.count, network.words)

    def save(self, folder: Path) -> None:
        np.savez(folder / DATA, x=self.x, classes=self.classes, limits=[self.count, self.words])

    @staticmethod
    def load(folder: Path) -> Minibatches:
        with np.load(folder / DATA) as data:
            count, words = data["limits"].tolist()
            return Minibatches(data["x"], data["classes"], count, words)

    def draw(self, seed: int) -> tuple[Array, Array]:
        """Another input and other classes, drawn at random, so that no network can learn them."""
        draw, shape = np.random.default_rng(seed), self.x.shape
        x = draw.integers(0, self.words, shape) if self.words else draw.normal(size=shape).astype(np.float32)
        return x, draw.integers(0, self.count, self.classes.shape)


def perceptron() -> Network:
    """Three layers, 784-512-512-10, of 64 rows."""
    from torch import nn, randn

    layers = [nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10)]
    return with_classes(nn.Sequential(*layers), randn(64, 784), 64, 10)


def small_convolutions() -> Network:
    """Three convolutions and two products, of 32 images of 32x32."""
    from torch import nn, randn

    layers = [
        *(nn.Conv2d(3, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 64, 3, padding=1), nn.ReLU()),
        *(nn.MaxPool2d(2), nn.Conv2d(64, 64, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()),
        *(nn.Linear(64 * 64, 128), nn.ReLU(), nn.Linear(128, 10)),
    ]
    return with_classes(nn.Sequential(*layers), randn(32, 3, 32, 32), 32, 10)


def resnet18() -> Network:
    """ResNet-18, of 8 images of 64x64."""
    from torch import nn, randn

    class Block(nn.Module):  # type: ignore[misc]  # PyTorch is skipped by the type checker
        def __init__(self, channels: int, columns: int, stride: int) -> None:
            super().__init__()
            self.first, self.second = convolution(channels, columns, stride), convolution(columns, columns, 1)
            is_same = stride == 1 and channels == columns
            self.short = nn.Identity() if is_same else convolution(channels, columns, stride, 1)

        def forward(self, x: Tensor) -> Tensor:
            return (self.second(self.first(x).relu()) + self.short(x)).relu()

    def convolution(channels: int, columns: int, stride: int, kernel: int = 3) -> nn.Module:
        layer = nn.Conv2d(channels, columns, kernel, stride, kernel // 2, bias=False)
        return nn.Sequential(layer, nn.BatchNorm2d(columns))

    blocks, channels = [], 64
    for columns in (64, 128, 256, 512):
        blocks += [Block(channels, columns, 1 if columns == 64 else 2), Block(columns, columns, 1)]
        channels = columns
    layers = [convolution(3, 64, 2, 7), nn.ReLU(), nn.MaxPool2d(3, 2, 1), *blocks]
    layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 10)]
    return with_classes(nn.Sequential(*layers), randn(8, 3, 64, 64), 8, 10)


def adapted_encoder() -> Network:
    """An encoder of 6 layers of 384, of which low-rank adapters of all products in its blocks are trained (LoRA, rank 8)."""
    from torch import nn, randn, zeros

    class Adapted(nn.Module):  # type: ignore[misc]  # PyTorch is skipped by the type checker
        def __init__(self, layer: nn.Linear, rank: int = 8) -> None:
            super().__init__()
            self.layer = layer
            self.lora_a = nn.Parameter(randn(layer.in_features, rank) * 0.02)
            self.lora_b = nn.Parameter(zeros(rank, layer.out_features))

        def forward(self, x: Tensor) -> Tensor:
            return self.layer(x) + (x @ self.lora_a) @ self.lora_b * 2.0

    network = encoder(layers=6, width=384, heads=6)
    network.module.requires_grad_(False)
    for block in network.module.blocks:
        for name in ("heads", "joined", "wide", "narrow"):
            setattr(block, name, Adapted(getattr(block, name)))
    return replace(network, trainable="*lora_*")


def encoder(layers: int = 4, width: int = 256, heads: int = 4, words: int = 1000) -> Network:
    """A transformer encoder with a class for each of 8 x 64 words."""
    import torch
    from torch import nn

    class Block(nn.Module):  # type: ignore[misc]  # PyTorch is skipped by the type checker
        def __init__(self) -> None:
            super().__init__()
            self.norm, self.second_norm = nn.LayerNorm(width), nn.LayerNorm(width)
            self.heads, self.joined = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def forward(self, x: Tensor) -> Tensor:
            rows, length, _ = x.shape
            parts = self.heads(self.norm(x)).reshape(rows, length, 3, heads, width // heads)
            q, k, v = parts.permute(2, 0, 3, 1, 4).unbind(0)
            weights = torch.softmax(q @ k.transpose(-1, -2) * (width // heads) ** -0.5, -1)
            x = x + self.joined((weights @ v).transpose(1, 2).reshape(rows, length, width))
            return x + self.narrow(nn.functional.gelu(self.wide(self.second_norm(x))))

    class Encoder(nn.Module):  # type: ignore[misc]  # PyTorch is skipped by the type checker
        def __init__(self) -> None:
            super().__init__()
            self.words, self.places = (
                nn.Embedding(words, width),
                nn.Parameter(torch.randn(64, width) * 0.02),
            )
            self.blocks = nn.Sequential(*(Block() for _ in range(layers)))
            self.norm, self.classes = nn.LayerNorm(width), nn.Linear(width, words)

        def forward(self, x: Tensor) -> Tensor:
            return self.classes(self.norm(self.blocks(self.words(x) + self.places))).flatten(0, 1)

    return with_classes(Encoder(), torch.randint(0, words, (8, 64)), 512, words, words)


def recurrent() -> Network:
    """Two LSTM layers of 128 units over 16 sequences of 50 steps, with a class for each sequence."""
    import torch
    from torch import nn

    class Recurrent(nn.Module):  # type: ignore[misc]  # PyTorch is skipped by the type checker
        def __init__(self) -> None:
            super().__init__()
            self.layers, self.classes = nn.LSTM(64, 128, 2, batch_first=True), nn.Linear(128, 10)

        def forward(self, x: Tensor) -> Tensor:
            return self.classes(self.layers(x)[0][:, -1])

    return with_classes(Recurrent(), torch.randn(16, 50, 64), 16, 10)


def with_classes(module: nn.Module, x: Tensor, rows: int, count: int, words: int = 0) -> Network:
    from torch import randint

    return Network(module.train(), x, randint(0, count, (rows,)), count, words)


NETWORKS: dict[str, Callable[[], Network]] = {
    "perceptron 784-512-512-10, batch 64": perceptron,
    "convolutions, 32x32, batch 32": small_convolutions,
    "ResNet-18, 64x64, batch 8": resnet18,
    "encoder, 4 layers of 256, 8x64": encoder,
    "encoder, 6 layers of 384, LoRA": adapted_encoder,
    "LSTM, 2 layers of 128, 16x50": recurrent,
}


def build(name: str) -> Network:
    """The network with weights, inputs and classes from a fixed seed."""
    import torch

    torch.manual_seed(SEED)
    return NETWORKS[name]()
