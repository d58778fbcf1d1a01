"""Convolutional backbones of few operations: depthwise and grouped convolutions, and attention over channels."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from model_zoo.networks.layers import classifier, conv_norm
from model_zoo.registry import network, normal, sizes

IMAGES = sizes("N H W", (2, 21, 34), (1, 32, 32), (3, 17, 25), (1, 40, 19))


class InvertedResidual(nn.Module):
    """MobileNetV3's block: expansion, depthwise convolution, squeeze and excitation, projection."""

    def __init__(self, channels: int, width: int, size: int, activation: nn.Module) -> None:
        super().__init__()
        self.expand = nn.Sequential(nn.Conv2d(channels, width, 1), nn.BatchNorm2d(width), activation)
        self.depthwise = nn.Conv2d(width, width, size, 1, size // 2, groups=width, bias=False)
        self.norm, self.activation = nn.BatchNorm2d(width), activation
        self.gate = nn.Sequential(
            nn.AdaptiveAvgPool2d(1),
            nn.Conv2d(width, 4, 1),
            nn.ReLU(),
            nn.Conv2d(4, width, 1),
            nn.Hardsigmoid(),
        )
        self.project = nn.Sequential(nn.Conv2d(width, channels, 1), nn.BatchNorm2d(channels))

    def forward(self, x: Tensor) -> Tensor:
        y = self.activation(self.norm(self.depthwise(self.expand(x))))
        return x + self.project(y * self.gate(y))


@network(IMAGES, x=normal("N", 3, "H", "W"))
def mobilenet() -> nn.Module:
    blocks = [InvertedResidual(8, 12, 3, nn.ReLU6()), InvertedResidual(8, 16, 5, nn.Hardswish())]
    return nn.Sequential(conv_norm(3, 8, 3, 2), *blocks, classifier(8))


class Shuffle(nn.Module):
    """ShuffleNetV2: half of the channels pass, and both halves are interleaved."""

    def __init__(self, width: int) -> None:
        super().__init__()
        half = width // 2
        self.branch = nn.Sequential(
            conv_norm(half, half, 1), nn.Conv2d(half, half, 3, 1, 1, groups=half), conv_norm(half, half, 1)
        )

    def forward(self, x: Tensor) -> Tensor:
        a, b = x.chunk(2, 1)
        y = torch.cat([a, self.branch(b)], 1)
        n, c, h, w = y.shape
        return y.view(n, 2, c // 2, h, w).transpose(1, 2).reshape(n, c, h, w)


@network(IMAGES, x=normal("N", 3, "H", "W"))
def shufflenet() -> nn.Module:
    return nn.Sequential(conv_norm(3, 8, 3, 2), Shuffle(8), Shuffle(8), classifier(8))


class Ghost(nn.Module):
    """GhostNet: cheap depthwise copies of half of the channels, of which not all are used."""

    def __init__(self, channels: int, width: int) -> None:
        super().__init__()
        self.width, half = width, (width + 1) // 2
        self.primary = nn.Sequential(nn.Conv2d(channels, half, 1), nn.BatchNorm2d(half), nn.ReLU())
        self.cheap = nn.Sequential(nn.Conv2d(half, half, 3, 1, 1, groups=half), nn.ReLU())

    def forward(self, x: Tensor) -> Tensor:
        y = self.primary(x)
        return torch.cat([y, self.cheap(y)], 1)[:, : self.width]


@network(IMAGES, x=normal("N", 3, "H", "W"))
def ghostnet() -> nn.Module:
    return nn.Sequential(conv_norm(3, 8, 3, 2), Ghost(8, 11), Ghost(11, 7), classifier(7))


class ECA(nn.Module):
    """Efficient channel attention: a convolution over the channels as a sequence; a large selective kernel after it."""

    def __init__(self) -> None:
        super().__init__()
        self.stem, self.conv = conv_norm(3, 8, 3, 2), nn.Conv1d(1, 1, 3, padding=1, bias=False)
        self.wide, self.narrow = (
            nn.Conv2d(8, 8, 5, padding=4, dilation=2, groups=8),
            nn.Conv2d(8, 8, 3, padding=1),
        )
        self.choice, self.head = nn.Linear(8, 16), classifier(8)

    def forward(self, x: Tensor) -> Tensor:
        x = self.stem(x)
        gate = self.conv(x.mean((2, 3))[:, None]).transpose(1, 2).unsqueeze(-1)
        x = x * gate.sigmoid()
        a, b = self.wide(x), self.narrow(x)
        weights = self.choice((a + b).mean((2, 3))).view(-1, 2, 8).softmax(1)[..., None, None]
        return self.head((torch.stack([a, b], 1) * weights).sum(1))


@network(IMAGES, x=normal("N", 3, "H", "W"))
def channel_attention() -> nn.Module:
    return ECA()
