"""Three-dimensional convolutions: volumes of medicine and video."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from model_zoo.networks.layers import Block
from model_zoo.registry import network, normal, sizes

VOLUMES = sizes("N D H W", (2, 7, 9, 11), (1, 8, 8, 8), (1, 5, 12, 6), (3, 4, 6, 10))
CLIPS = sizes("N T H W", (2, 5, 12, 15), (1, 8, 16, 16), (1, 4, 9, 21), (3, 6, 10, 8))


def conv3d(channels: int, width: int, stride: int = 1) -> nn.Module:
    return nn.Sequential(
        nn.Conv3d(channels, width, 3, stride, 1), nn.InstanceNorm3d(width, affine=True), nn.LeakyReLU(0.01)
    )


class UNet3d(nn.Module):
    """nnU-Net's form: strided convolutions down, and odd sizes resized on the way up."""

    def __init__(self) -> None:
        super().__init__()
        self.stem, self.down, self.up = conv3d(1, 4), conv3d(4, 8, 2), conv3d(12, 4)
        self.head = nn.Conv3d(4, 2, 1)

    def forward(self, x: Tensor) -> Tensor:
        a = self.stem(x)
        b = functional.interpolate(self.down(a), size=a.shape[2:], mode="trilinear")
        return self.head(self.up(torch.cat([b, a], 1)))


@network(VOLUMES, x=normal("N", 1, "D", "H", "W"))
def unet_3d() -> nn.Module:
    return UNet3d()


class VNet(nn.Module):
    """Transposed convolutions whose result is cropped to the skip, and residuals."""

    def __init__(self) -> None:
        super().__init__()
        self.stem, self.down = nn.Conv3d(1, 4, 5, padding=2), nn.Conv3d(4, 8, 2, 2)
        self.norm, self.up = nn.BatchNorm3d(4), nn.ConvTranspose3d(8, 4, 2, 2)
        self.after, self.head = nn.Conv3d(8, 8, 3, padding=1), nn.Conv3d(8, 2, 1)

    def forward(self, x: Tensor) -> Tensor:
        a = functional.elu(self.norm(self.stem(x)) + x)
        b = self.up(functional.elu(self.down(a)))
        a = a[:, :, : b.shape[2], : b.shape[3], : b.shape[4]]
        y = torch.cat([a, b], 1)
        return self.head(functional.elu(self.after(y) + y)).softmax(1)


@network(VOLUMES, x=normal("N", 1, "D", "H", "W"))
def vnet() -> nn.Module:
    return VNet()


@network(CLIPS, x=normal("N", 3, "T", "H", "W"))
def c3d() -> nn.Module:
    """Convolutions and pools over time and space."""
    return nn.Sequential(
        nn.Conv3d(3, 6, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool3d((1, 2, 2)),
        nn.Conv3d(6, 8, (3, 1, 1), padding=(1, 0, 0)),
        nn.BatchNorm3d(8),
        nn.ReLU(),
        nn.AvgPool3d(2, 2, ceil_mode=True),
        nn.AdaptiveAvgPool3d(1),
        nn.Flatten(),
        nn.Linear(8, 4),
    )


class SlowFast(nn.Module):
    """A path of every second frame and one of all, which is convolved into the other."""

    def __init__(self) -> None:
        super().__init__()
        self.slow, self.fast = (
            nn.Conv3d(3, 6, (1, 3, 3), (1, 2, 2), (0, 1, 1)),
            nn.Conv3d(3, 4, 3, (1, 2, 2), 1),
        )
        self.lateral, self.join = nn.Conv3d(4, 4, (3, 1, 1), (2, 1, 1), (1, 0, 0)), nn.Conv3d(10, 8, 1)
        self.head = nn.Linear(12, 4)

    def forward(self, x: Tensor) -> Tensor:
        slow, fast = functional.relu(self.slow(x[:, :, ::2])), functional.relu(self.fast(x))
        slow = functional.relu(self.join(torch.cat([slow, self.lateral(fast)], 1)))
        return self.head(torch.cat([slow.mean((2, 3, 4)), fast.mean((2, 3, 4))], 1))


@network(CLIPS, x=normal("N", 3, "T", "H", "W"))
def slowfast() -> nn.Module:
    return SlowFast()


class TSM(nn.Module):
    """Frames as a batch; a part of the channels is shifted to the next and the previous frame."""

    def __init__(self) -> None:
        super().__init__()
        self.stem, self.conv = nn.Conv2d(3, 8, 3, 2, 1), nn.Conv2d(8, 8, 3, padding=1)
        self.head = nn.Linear(8, 4)

    def forward(self, x: Tensor) -> Tensor:
        n, t = x.shape[:2]
        y = functional.relu(self.stem(x.flatten(0, 1)))
        y = y.view(n, t, 8, y.shape[2], y.shape[3])
        after = functional.pad(y[:, 1:, :2], (0, 0, 0, 0, 0, 0, 0, 1))
        before = functional.pad(y[:, :-1, 2:4], (0, 0, 0, 0, 0, 0, 1, 0))
        y = torch.cat([after, before, y[:, :, 4:]], 2).flatten(0, 1)
        y = functional.relu(self.conv(y)).mean((2, 3))
        return self.head(y).view(n, t, 4).mean(1)


@network(CLIPS, x=normal("N", "T", 3, "H", "W"))
def temporal_shift() -> nn.Module:
    return TSM()


class ConvLSTM(nn.Module):
    """A recurrence over three frames whose products are convolutions."""

    def __init__(self) -> None:
        super().__init__()
        self.gates, self.head = nn.Conv2d(3 + 4, 16, 3, padding=1), nn.Conv2d(4, 1, 1)

    def forward(self, x: Tensor) -> Tensor:
        state = torch.zeros(x.shape[0], 4, x.shape[3], x.shape[4], dtype=x.dtype)
        cell, results = state, []
        for t in range(3):
            i, f, o, g = self.gates(torch.cat([x[:, t], state], 1)).chunk(4, 1)
            cell = f.sigmoid() * cell + i.sigmoid() * g.tanh()
            state = o.sigmoid() * cell.tanh()
            results.append(self.head(state))
        return torch.stack(results, 1)


@network(sizes("N H W", (2, 9, 7), (1, 8, 8), (3, 5, 6), (1, 12, 11)), x=normal("N", 3, 3, "H", "W"))
def conv_lstm() -> nn.Module:
    return ConvLSTM()


class VideoTransformer(nn.Module):
    """Attention over space and then over time, as TimeSformer divides them."""

    def __init__(self) -> None:
        super().__init__()
        self.patch, self.space, self.time = nn.Conv3d(3, 8, (1, 4, 4), (1, 4, 4)), Block(8, 2), Block(8, 2)
        self.head = nn.Linear(8, 4)

    def forward(self, x: Tensor) -> Tensor:
        y = self.patch(x)
        n, c, t, h, w = y.shape
        y = self.space(y.permute(0, 2, 3, 4, 1).reshape(n * t, h * w, c))
        y = y.reshape(n, t, h * w, c).transpose(1, 2).reshape(n * h * w, t, c)
        return self.head(self.time(y)).view(n, h * w, t, 4).mean((1, 2))


@network(CLIPS, x=normal("N", 3, "T", "H", "W"))
def timesformer() -> nn.Module:
    return VideoTransformer()
