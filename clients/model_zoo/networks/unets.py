"""U-Nets: skips that are cropped, padded or resized to meet odd sizes."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from model_zoo.registry import network, normal, sizes, uniform

IMAGES = sizes("N H W", (2, 33, 47), (1, 64, 48), (3, 17, 21), (2, 40, 35))


def double_conv(channels: int, width: int) -> nn.Module:
    """Two convolutions with batch norms."""
    return nn.Sequential(
        nn.Conv2d(channels, width, 3, padding=1, bias=False),
        nn.BatchNorm2d(width),
        nn.ReLU(),
        nn.Conv2d(width, width, 3, padding=1, bias=False),
        nn.BatchNorm2d(width),
        nn.ReLU(),
    )


def pad_to(x: Tensor, y: Tensor) -> Tensor:
    """x, padded to the size of y as the U-Net of the PyTorch community does."""
    dy, dx = y.shape[2] - x.shape[2], y.shape[3] - x.shape[3]
    return functional.pad(x, [dx // 2, dx - dx // 2, dy // 2, dy - dy // 2])


class UNet(nn.Module):
    """Two levels.  up: "bilinear", "deconv" or "nearest"; meet: "pad", "crop" or "resize"."""

    def __init__(self, up: str, meet: str) -> None:
        super().__init__()
        self.up, self.meet = up, meet
        self.stem, self.down1, self.down2 = double_conv(3, 4), double_conv(4, 8), double_conv(8, 8)
        self.pool = nn.MaxPool2d(2)
        self.deconvs = nn.ModuleList([nn.ConvTranspose2d(8, 8, 2, 2), nn.ConvTranspose2d(8, 4, 2, 2)])
        self.up1, self.up2 = double_conv(16, 8), double_conv(8 if up == "deconv" else 12, 4)
        self.head = nn.Conv2d(4, 2, 1)

    def grow(self, x: Tensor, skip: Tensor, level: int) -> Tensor:
        if self.meet == "resize":
            x = functional.interpolate(x, size=skip.shape[2:], mode=self.up)
        elif self.up == "deconv":
            x = self.deconvs[level](x)
        else:
            x = functional.interpolate(x, scale_factor=2, mode=self.up)
        if self.meet == "pad":
            x = pad_to(x, skip)
        if self.meet == "crop":
            skip = skip[:, :, : x.shape[2], : x.shape[3]]
        return torch.cat([skip, x], 1)

    def forward(self, x: Tensor) -> Tensor:
        a = self.stem(x)
        b = self.down1(self.pool(a))
        c = self.down2(self.pool(b))
        y = self.up1(self.grow(c, b, 0))
        return self.head(self.up2(self.grow(y, a, 1)))


@network(IMAGES, x=normal("N", 3, "H", "W"))
def unet_padded() -> nn.Module:
    return UNet("bilinear", "pad")


@network(IMAGES, x=normal("N", 3, "H", "W"))
def unet_deconv_padded() -> nn.Module:
    return UNet("deconv", "pad")


@network(IMAGES, x=normal("N", 3, "H", "W"))
def unet_cropped() -> nn.Module:
    return UNet("deconv", "crop")


@network(IMAGES, x=normal("N", 3, "H", "W"))
def unet_resized() -> nn.Module:
    return UNet("nearest", "resize")


class NestedUNet(nn.Module):
    """U-Net++ of two levels with deep supervision."""

    def __init__(self) -> None:
        super().__init__()
        self.x00, self.x10, self.x20 = double_conv(3, 4), double_conv(4, 4), double_conv(4, 4)
        self.x01, self.x11, self.x02 = double_conv(8, 4), double_conv(8, 4), double_conv(12, 4)
        self.heads = nn.ModuleList([nn.Conv2d(4, 1, 1), nn.Conv2d(4, 1, 1)])
        self.pool = nn.MaxPool2d(2, ceil_mode=True)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        def up(a: Tensor, b: Tensor) -> Tensor:
            return functional.interpolate(a, size=b.shape[-2:], mode="bilinear", align_corners=True)

        x00 = self.x00(x)
        x10 = self.x10(self.pool(x00))
        x20 = self.x20(self.pool(x10))
        x01 = self.x01(torch.cat([x00, up(x10, x00)], 1))
        x11 = self.x11(torch.cat([x10, up(x20, x10)], 1))
        x02 = self.x02(torch.cat([x00, x01, up(x11, x01)], 1))
        return self.heads[0](x01).sigmoid(), self.heads[1](x02).sigmoid()


@network(IMAGES, x=normal("N", 3, "H", "W"))
def unet_nested() -> nn.Module:
    return NestedUNet()


class AttentionGate(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.gate, self.skip = nn.Conv2d(channels, 4, 1), nn.Conv2d(channels, 4, 1, stride=2)
        self.psi = nn.Conv2d(4, 1, 1)

    def forward(self, skip: Tensor, gate: Tensor) -> Tensor:
        weights = torch.sigmoid(self.psi(functional.relu(self.skip(skip) + self.gate(gate))))
        return skip * functional.interpolate(weights, size=skip.shape[2:], mode="bilinear")


class AttentionUNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem, self.down = double_conv(3, 8), nn.Conv2d(8, 8, 3, 2, 1)
        self.gate, self.up = AttentionGate(8), double_conv(16, 4)

    def forward(self, x: Tensor) -> Tensor:
        a = self.stem(x)
        b = functional.silu(self.down(a))
        grown = functional.interpolate(b, size=a.shape[2:], mode="nearest")
        return self.up(torch.cat([self.gate(a, b), grown], 1))


@network(IMAGES, x=normal("N", 3, "H", "W"))
def unet_attention_gates() -> nn.Module:
    return AttentionUNet()


class TimeBlock(nn.Module):
    """A residual block of a diffusion model, shifted and scaled by an embedding of time."""

    def __init__(self, channels: int, width: int) -> None:
        super().__init__()
        self.norm1, self.conv1 = nn.GroupNorm(2, channels), nn.Conv2d(channels, width, 3, padding=1)
        self.time = nn.Linear(16, 2 * width)
        self.norm2, self.conv2 = nn.GroupNorm(4, width), nn.Conv2d(width, width, 3, padding=1)
        self.skip = nn.Conv2d(channels, width, 1) if channels != width else nn.Identity()

    def forward(self, x: Tensor, time: Tensor) -> Tensor:
        h = self.conv1(functional.silu(self.norm1(x)))
        scale, shift = self.time(functional.silu(time))[:, :, None, None].chunk(2, 1)
        h = self.norm2(h) * (1 + scale) + shift
        return self.skip(x) + self.conv2(functional.silu(h))


class SpatialAttention(nn.Module):
    """Self-attention over the pixels of an image."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.norm = nn.GroupNorm(2, channels)
        self.qkv, self.out = nn.Conv2d(channels, 3 * channels, 1), nn.Conv2d(channels, channels, 1)

    def forward(self, x: Tensor) -> Tensor:
        n, c, h, w = x.shape
        q, k, v = self.qkv(self.norm(x)).reshape(n, 3, 2, c // 2, h * w).transpose(3, 4).unbind(1)
        y = functional.scaled_dot_product_attention(q, k, v)
        return x + self.out(y.transpose(2, 3).reshape(n, c, h, w))


def time_embedding(time: Tensor, width: int) -> Tensor:
    """Sines and cosines of times [n]: [n, width]."""
    rates = torch.exp(-torch.arange(width // 2, device=time.device) * 0.7)
    angles = time[:, None] * rates[None]
    return torch.cat([angles.sin(), angles.cos()], -1)


class DiffusionUNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.time = nn.Sequential(nn.Linear(16, 16), nn.SiLU(), nn.Linear(16, 16))
        self.stem = nn.Conv2d(3, 8, 3, padding=1)
        self.down1, self.shrink, self.down2 = TimeBlock(8, 8), nn.Conv2d(8, 8, 3, 2, 1), TimeBlock(8, 12)
        self.attention = SpatialAttention(12)
        self.up1, self.grow, self.up2 = TimeBlock(20, 8), nn.Conv2d(8, 8, 3, padding=1), TimeBlock(16, 8)
        self.head = nn.Sequential(nn.GroupNorm(2, 8), nn.SiLU(), nn.Conv2d(8, 3, 3, padding=1))

    def forward(self, x: Tensor, t: Tensor) -> Tensor:
        time = self.time(time_embedding(100 * t, 16))
        a = self.down1(self.stem(x), time)
        b = self.shrink(a)
        c = self.attention(self.down2(b, time))
        y = self.up1(torch.cat([c, b], 1), time)
        y = self.grow(functional.interpolate(y, size=a.shape[2:], mode="nearest"))
        return self.head(self.up2(torch.cat([y, a], 1), time))


@network(
    sizes("N H W", (2, 11, 15), (1, 16, 16), (3, 8, 9), (2, 21, 6)),
    x=normal("N", 3, "H", "W"),
    t=uniform("N"),
)
def unet_diffusion() -> nn.Module:
    return DiffusionUNet()


class WaveUNet(nn.Module):
    """A U-Net over sound, decimating by 2 with linear interpolation back."""

    def __init__(self) -> None:
        super().__init__()
        self.down = nn.ModuleList([nn.Conv1d(1, 6, 15, padding=7), nn.Conv1d(6, 12, 15, padding=7)])
        self.middle = nn.Conv1d(12, 12, 15, padding=7)
        self.up = nn.ModuleList([nn.Conv1d(24, 12, 5, padding=2), nn.Conv1d(18, 6, 5, padding=2)])
        self.head = nn.Conv1d(7, 2, 1)

    def forward(self, x: Tensor) -> Tensor:
        y, skips = x, []
        for layer in self.down:
            y = functional.leaky_relu(layer(y), 0.2)
            skips.append(y)
            y = y[:, :, ::2]
        y = functional.leaky_relu(self.middle(y), 0.2)
        for layer, skip in zip(self.up, reversed(skips), strict=True):
            y = functional.interpolate(y, size=skip.shape[2], mode="linear", align_corners=True)
            y = functional.leaky_relu(layer(torch.cat([y, skip], 1)), 0.2)
        return torch.tanh(self.head(torch.cat([y, x], 1)))


@network(sizes("N T", (2, 101), (1, 256), (3, 77), (1, 130)), x=normal("N", 1, "T"))
def unet_wave() -> nn.Module:
    return WaveUNet()
