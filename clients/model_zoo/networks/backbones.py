"""Convolutional backbones of image classifiers."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from model_zoo.networks.layers import classifier, conv_norm
from model_zoo.registry import network, normal, sizes

IMAGES = sizes("N H W", (2, 21, 34), (1, 32, 32), (3, 17, 25), (1, 40, 19))


class Bottleneck(nn.Module):
    def __init__(self, channels: int, width: int, stride: int) -> None:
        super().__init__()
        self.inner = nn.Sequential(
            nn.Conv2d(channels, width, 1, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(),
            nn.Conv2d(width, width, 3, stride, 1, groups=2, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(),
            nn.Conv2d(width, 2 * width, 1, bias=False),
            nn.BatchNorm2d(2 * width),
        )
        self.skip = nn.Sequential(nn.Conv2d(channels, 2 * width, 1, stride), nn.BatchNorm2d(2 * width))

    def forward(self, x: Tensor) -> Tensor:
        return functional.relu(self.inner(x) + self.skip(x))


@network(IMAGES, x=normal("N", 3, "H", "W"))
def resnext() -> nn.Module:
    stem = [nn.Conv2d(3, 8, 7, 2, 3, bias=False), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    return nn.Sequential(*stem, Bottleneck(8, 4, 1), Bottleneck(8, 8, 2), classifier(16))


class Dense(nn.Module):
    """DenseNet: each layer reads the results of all before, and a transition halves the size."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 6, 3, 2, 1)
        self.layers = nn.ModuleList(
            [nn.Sequential(nn.BatchNorm2d(c), nn.ReLU(), nn.Conv2d(c, 4, 3, 1, 1)) for c in (6, 10, 14)]
        )
        self.transition = nn.Sequential(nn.BatchNorm2d(18), nn.ReLU(), nn.Conv2d(18, 8, 1), nn.AvgPool2d(2))
        self.last = nn.Sequential(nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 4, 3, 1, 1))
        self.head = classifier(12)

    def forward(self, x: Tensor) -> Tensor:
        maps = [self.stem(x)]
        for layer in self.layers:
            maps.append(layer(torch.cat(maps, 1)))
        y = self.transition(torch.cat(maps, 1))
        return self.head(torch.cat([y, self.last(y)], 1))


@network(IMAGES, x=normal("N", 3, "H", "W"))
def densenet() -> nn.Module:
    return Dense()


class Inception(nn.Module):
    """Four branches of several kernels, with a pool that keeps the size and one that rounds it up."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = conv_norm(3, 8, 3, 2)
        self.a, self.b = conv_norm(8, 4, 1), nn.Sequential(conv_norm(8, 4, 1), conv_norm(4, 5, 3))
        self.c = nn.Sequential(
            nn.Conv2d(8, 4, (1, 7), padding=(0, 3)), nn.ReLU(), nn.Conv2d(4, 3, (7, 1), padding=(3, 0))
        )
        self.d = nn.Sequential(nn.AvgPool2d(3, 1, 1, count_include_pad=False), nn.Conv2d(8, 4, 1))
        self.down = nn.MaxPool2d(3, 2, ceil_mode=True)
        self.reduce = nn.Conv2d(16, 8, 3, 2)
        self.head = classifier(24)

    def forward(self, x: Tensor) -> Tensor:
        x = self.stem(x)
        y = torch.cat([self.a(x), self.b(x), self.c(x), self.d(x)], 1)
        down = self.down(y)
        return self.head(
            torch.cat(
                [
                    down,
                    functional.pad(
                        self.reduce(y),
                        (
                            0,
                            down.shape[3] - self.reduce(y).shape[3],
                            0,
                            down.shape[2] - self.reduce(y).shape[2],
                        ),
                    ),
                ],
                1,
            )
        )


@network(IMAGES, x=normal("N", 3, "H", "W"))
def inception() -> nn.Module:
    return Inception()


class ConvNeXtBlock(nn.Module):
    """Norms and products over the channels, which are moved to the end; V2's response normalization."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.depthwise, self.norm = nn.Conv2d(width, width, 7, padding=3, groups=width), nn.LayerNorm(width)
        self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)
        self.gamma, self.beta = nn.Parameter(torch.ones(2 * width)), nn.Parameter(torch.zeros(2 * width))
        self.scale = nn.Parameter(torch.ones(width))

    def forward(self, x: Tensor) -> Tensor:
        y = functional.gelu(self.up(self.norm(self.depthwise(x).permute(0, 2, 3, 1))))
        size = torch.norm(y, p=2, dim=(1, 2), keepdim=True)
        y = self.gamma * (y * (size / (size.mean(-1, keepdim=True) + 1e-6))) + self.beta + y
        return x + (self.scale * self.down(y)).permute(0, 3, 1, 2)


class ChannelNorm(nn.Module):
    """A layer norm over axis 1, written out."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.ones(width)), nn.Parameter(torch.zeros(width))

    def forward(self, x: Tensor) -> Tensor:
        mean = x.mean(1, keepdim=True)
        variance = (x - mean).pow(2).mean(1, keepdim=True)
        y = (x - mean) / torch.sqrt(variance + 1e-6)
        return self.weight[:, None, None] * y + self.bias[:, None, None]


@network(IMAGES, x=normal("N", 3, "H", "W"))
def convnext() -> nn.Module:
    stem = [nn.Conv2d(3, 8, 4, 4), ChannelNorm(8), ConvNeXtBlock(8)]
    return nn.Sequential(*stem, ChannelNorm(8), nn.Conv2d(8, 12, 2, 2), ConvNeXtBlock(12), classifier(12))


class RepVGG(nn.Module):
    """Three branches, one of them the identity, whose sum is activated."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.wide = nn.Sequential(nn.Conv2d(width, width, 3, 1, 1, bias=False), nn.BatchNorm2d(width))
        self.narrow = nn.Sequential(nn.Conv2d(width, width, 1, bias=False), nn.BatchNorm2d(width))
        self.identity = nn.BatchNorm2d(width)

    def forward(self, x: Tensor) -> Tensor:
        return functional.relu(self.wide(x) + self.narrow(x) + self.identity(x))


@network(IMAGES, x=normal("N", 3, "H", "W"))
def repvgg() -> nn.Module:
    return nn.Sequential(conv_norm(3, 8, 3, 2), RepVGG(8), RepVGG(8), classifier(8))


class CSP(nn.Module):
    """A cross-stage block, focus by space to depth, and CBAM's attention over channels and pixels."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.PixelUnshuffle(2), conv_norm(12, 8))
        self.left, self.right, self.join = conv_norm(8, 4, 1), conv_norm(8, 4, 1), conv_norm(8, 8, 1)
        self.inner = nn.Sequential(conv_norm(4, 4, 1), conv_norm(4, 4))
        self.mlp = nn.Sequential(nn.Conv2d(8, 4, 1), nn.ReLU(), nn.Conv2d(4, 8, 1))
        self.spatial, self.head = nn.Conv2d(2, 1, 7, padding=3), classifier(8)

    def forward(self, x: Tensor) -> Tensor:
        x = self.stem(x)
        right = self.right(x)
        y = self.join(torch.cat([self.left(x), right + self.inner(right)], 1))
        mean, most = y.mean((2, 3), keepdim=True), y.amax((2, 3), keepdim=True)
        y = y * torch.sigmoid(self.mlp(mean) + self.mlp(most))
        summary = torch.cat([y.mean(1, keepdim=True), y.max(1, keepdim=True).values], 1)
        return self.head(y * torch.sigmoid(self.spatial(summary)))


@network(sizes("N H W", (2, 10, 17), (1, 16, 16), (3, 9, 6), (1, 5, 20)), x=normal("N", 3, "2 * H", "2 * W"))
def cspnet() -> nn.Module:
    return CSP()


class NormFree(nn.Module):
    """Weights standardized in the graph, blurred pools, and an average pool of ceiled size."""

    def __init__(self) -> None:
        super().__init__()
        self.weight, self.gain = nn.Parameter(torch.randn(8, 3, 3, 3)), nn.Parameter(torch.ones(8, 1, 1, 1))
        self.register_buffer("blur", torch.tensor([1.0, 2, 1])[:, None] * torch.tensor([1.0, 2, 1]) / 16)
        self.pool, self.head = nn.AvgPool2d(3, 2, 1, ceil_mode=True), classifier(8)

    def forward(self, x: Tensor) -> Tensor:
        variance, mean = torch.var_mean(self.weight, dim=(1, 2, 3), keepdim=True)
        weight = self.gain * (self.weight - mean) * torch.rsqrt(variance * 27 + 1e-4)
        y = functional.silu(functional.conv2d(x, weight, padding=1)) / 0.5595
        y = functional.pad(y, (1, 1, 1, 1), mode="reflect")
        y = functional.conv2d(y, self.blur.expand(8, 1, 3, 3), stride=2, groups=8)
        return self.head(self.pool(y))


@network(IMAGES, x=normal("N", 3, "H", "W"))
def normalizer_free() -> nn.Module:
    return NormFree()
