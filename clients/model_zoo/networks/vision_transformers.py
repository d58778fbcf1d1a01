"""Transformers over images, and their relatives without attention."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from model_zoo.networks.layers import Block, CrossAttention, SelfAttention, conv_norm
from model_zoo.registry import network, normal, sizes

IMAGES = sizes("N H W", (2, 24, 36), (1, 32, 20), (3, 17, 25), (1, 40, 44))
FIXED = sizes("N", (2,), (1,), (3,), (5,))


class ViT(nn.Module):
    """A class token, and positions that are resized to the grid of patches."""

    def __init__(self) -> None:
        super().__init__()
        self.patch, self.token = nn.Conv2d(3, 8, 4, 4), nn.Parameter(torch.randn(1, 1, 8))
        self.places = nn.Parameter(torch.randn(1, 8, 5, 5))
        self.blocks, self.norm, self.head = Block(8, 2), nn.LayerNorm(8), nn.Linear(8, 5)

    def forward(self, x: Tensor) -> Tensor:
        y = self.patch(x)
        y = y + functional.interpolate(self.places, size=y.shape[2:], mode="bicubic")
        y = y.flatten(2).transpose(1, 2)
        y = torch.cat([self.token.expand(x.shape[0], -1, -1), y], 1)
        return self.head(self.norm(self.blocks(y))[:, 0])


@network(IMAGES, x=normal("N", 3, "H", "W"))
def vit_resized_positions() -> nn.Module:
    return ViT()


def windows(x: Tensor, size: int) -> Tensor:
    """x [n, h, w, c] in windows [n * count, size * size, c]."""
    n, h, w, c = x.shape
    x = x.view(n, h // size, size, w // size, size, c).transpose(2, 3)
    return x.reshape(-1, size * size, c)


def from_windows(x: Tensor, size: int, height: int, width: int) -> Tensor:
    x = x.view(-1, height // size, width // size, size, size, x.shape[-1]).transpose(2, 3)
    return x.reshape(-1, height, width, x.shape[-1])


class SwinBlock(nn.Module):
    """Attention in windows of 4, shifted by a roll, with biases by relative position."""

    def __init__(self, shift: int) -> None:
        super().__init__()
        self.shift = shift
        self.norm1, self.norm2 = nn.LayerNorm(8), nn.LayerNorm(8)
        self.packed, self.out = nn.Linear(8, 24), nn.Linear(8, 8)
        self.bias = nn.Parameter(torch.randn(49, 2))
        places = torch.stack(torch.meshgrid(torch.arange(4), torch.arange(4), indexing="ij")).flatten(1)
        relative = places[:, :, None] - places[:, None] + 3
        self.register_buffer("index", (relative[0] * 7 + relative[1]).flatten())
        self.mlp = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 8))

    def forward(self, x: Tensor) -> Tensor:
        _n, h, w, _c = x.shape
        y = self.norm1(x)
        y = functional.pad(y, (0, 0, 0, -w % 4, 0, -h % 4))
        height, width = y.shape[1:3]
        if self.shift:
            y = torch.roll(y, (-self.shift, -self.shift), (1, 2))
        y = windows(y, 4)
        q, k, v = self.packed(y).view(-1, 16, 3, 2, 4).permute(2, 0, 3, 1, 4).unbind(0)
        bias = self.bias[self.index].view(16, 16, 2).permute(2, 0, 1)
        y = (q @ k.transpose(2, 3) / 2 + bias).softmax(-1) @ v
        y = from_windows(self.out(y.transpose(1, 2).reshape(-1, 16, 8)), 4, height, width)
        if self.shift:
            y = torch.roll(y, (self.shift, self.shift), (1, 2))
        x = x + y[:, :h, :w]
        return x + self.mlp(self.norm2(x))


class Swin(nn.Module):
    """Two blocks, and the merging of patches of 2 x 2."""

    def __init__(self) -> None:
        super().__init__()
        self.patch, self.blocks = nn.Conv2d(3, 8, 2, 2), nn.Sequential(SwinBlock(0), SwinBlock(2))
        self.norm, self.reduce, self.head = nn.LayerNorm(32), nn.Linear(32, 12), nn.Linear(12, 5)

    def forward(self, x: Tensor) -> Tensor:
        y = self.blocks(self.patch(x).permute(0, 2, 3, 1))
        y = functional.pad(y, (0, 0, 0, y.shape[2] % 2, 0, y.shape[1] % 2))
        y = torch.cat([y[:, ::2, ::2], y[:, 1::2, ::2], y[:, ::2, 1::2], y[:, 1::2, 1::2]], -1)
        return self.head(self.reduce(self.norm(y)).mean((1, 2)))


@network(IMAGES, x=normal("N", 3, "H", "W"))
def swin() -> nn.Module:
    return Swin()


class MobileViT(nn.Module):
    """Pixels of the same place in patches of 2 x 2 attend to one another; odd sizes are resized to even ones."""

    def __init__(self) -> None:
        super().__init__()
        self.stem, self.local = conv_norm(3, 8, 3, 2), nn.Sequential(conv_norm(8, 8), nn.Conv2d(8, 8, 1))
        self.block, self.norm = Block(8, 2), nn.LayerNorm(8)
        self.project, self.fuse = conv_norm(8, 8, 1), conv_norm(16, 8)

    def forward(self, x: Tensor) -> Tensor:
        skip = self.stem(x)
        y = self.local(skip)
        n, c, h, w = y.shape
        rows, columns = (h + 1) // 2, (w + 1) // 2
        y = functional.interpolate(y, size=(2 * rows, 2 * columns), mode="bilinear")
        y = y.reshape(n * c * rows, 2, columns, 2).transpose(1, 2).reshape(n, c, rows * columns, 4)
        y = y.transpose(1, 3).reshape(n * 4, rows * columns, c)
        y = self.norm(self.block(y)).view(n, 4, rows * columns, c).transpose(1, 3)
        y = y.reshape(n * c * rows, columns, 2, 2).transpose(1, 2).reshape(n, c, 2 * rows, 2 * columns)
        y = functional.interpolate(y, size=(h, w), mode="bilinear")
        return self.fuse(torch.cat([skip, self.project(y)], 1))


@network(IMAGES, x=normal("N", 3, "H", "W"))
def mobilevit() -> nn.Module:
    return MobileViT()


class PVT(nn.Module):
    """Keys and values from a map that a strided convolution reduces."""

    def __init__(self) -> None:
        super().__init__()
        self.patch, self.norm = nn.Conv2d(3, 8, 7, 4, 3), nn.LayerNorm(8)
        self.reduce, self.reduce_norm = nn.Conv2d(8, 8, 2, 2), nn.LayerNorm(8)
        self.attention = CrossAttention(8, 8, 2)
        self.up, self.depthwise, self.down = (
            nn.Linear(8, 16),
            nn.Conv2d(16, 16, 3, 1, 1, groups=16),
            nn.Linear(16, 8),
        )

    def forward(self, x: Tensor) -> Tensor:
        y = self.patch(x)
        n, c, h, w = y.shape
        tokens = self.norm(y.flatten(2).transpose(1, 2))
        few = self.reduce(tokens.transpose(1, 2).reshape(n, c, h, w)).flatten(2).transpose(1, 2)
        tokens = tokens + self.attention(tokens, self.reduce_norm(few))
        z = self.depthwise(self.up(tokens).transpose(1, 2).view(n, 16, h, w)).flatten(2).transpose(1, 2)
        tokens = tokens + self.down(functional.gelu(z))
        return tokens.transpose(1, 2).reshape(n, c, h, w)


@network(IMAGES, x=normal("N", 3, "H", "W"))
def pvt() -> nn.Module:
    return PVT()


class SegFormer(nn.Module):
    """Two scales of the transformer above, decoded by linear layers."""

    def __init__(self) -> None:
        super().__init__()
        self.fine, self.shrink, self.coarse = PVT(), nn.Conv2d(8, 8, 3, 2, 1), SelfAttention(8, 2)
        self.a, self.b, self.fuse = nn.Linear(8, 6), nn.Linear(8, 6), conv_norm(12, 6, 1)
        self.head = nn.Conv2d(6, 3, 1)

    def forward(self, x: Tensor) -> Tensor:
        fine = self.fine(x)
        coarse = self.shrink(fine)
        n, _, h, w = fine.shape
        a = self.a(fine.flatten(2).transpose(1, 2)).permute(0, 2, 1).reshape(n, -1, h, w)
        b = self.b(self.coarse(coarse.flatten(2).transpose(1, 2)))
        b = b.permute(0, 2, 1).reshape(n, -1, coarse.shape[2], coarse.shape[3])
        b = functional.interpolate(b, size=(h, w), mode="bilinear", align_corners=False)
        return self.head(self.fuse(torch.cat([b, a], 1)))


@network(IMAGES, x=normal("N", 3, "H", "W"))
def segformer() -> nn.Module:
    return SegFormer()


class XCiT(nn.Module):
    """Attention between channels of normalized tokens, with a temperature."""

    def __init__(self) -> None:
        super().__init__()
        self.patch, self.packed, self.out = nn.Conv2d(3, 8, 4, 4), nn.Linear(8, 24), nn.Linear(8, 8)
        self.temperature = nn.Parameter(torch.ones(2, 1, 1))
        self.local = nn.Sequential(nn.Conv2d(8, 8, 3, 1, 1, groups=8), nn.GELU(), nn.BatchNorm2d(8))

    def forward(self, x: Tensor) -> Tensor:
        y = self.patch(x)
        n, c, h, w = y.shape
        tokens = y.flatten(2).transpose(1, 2)
        q, k, v = self.packed(tokens).view(n, h * w, 3, 2, 4).permute(2, 0, 3, 4, 1).unbind(0)
        q, k = functional.normalize(q, dim=-1), functional.normalize(k, dim=-1)
        scores = (q @ k.transpose(2, 3)) * self.temperature
        z = (scores.softmax(-1) @ v).permute(0, 3, 1, 2).reshape(n, h * w, c)
        tokens = tokens + self.out(z)
        return self.local(tokens.transpose(1, 2).reshape(n, c, h, w))


@network(IMAGES, x=normal("N", 3, "H", "W"))
def xcit() -> nn.Module:
    return XCiT()


class Mixer(nn.Module):
    """MLPs over tokens and over channels, and a spatial gate as in gMLP."""

    def __init__(self) -> None:
        super().__init__()
        self.patch, self.norm1, self.norm2 = nn.Conv2d(3, 8, 4, 4), nn.LayerNorm(8), nn.LayerNorm(8)
        self.tokens = nn.Sequential(nn.Linear(16, 10), nn.GELU(), nn.Linear(10, 16))
        self.channels = nn.Sequential(nn.Linear(8, 12), nn.GELU(), nn.Linear(12, 8))
        self.split, self.gate, self.join = nn.Linear(8, 8), nn.Conv1d(16, 16, 1), nn.Linear(4, 8)
        self.gate_norm = nn.LayerNorm(4)

    def forward(self, x: Tensor) -> Tensor:
        y = self.patch(x).flatten(2).transpose(1, 2)
        y = y + self.tokens(self.norm1(y).transpose(1, 2)).transpose(1, 2)
        y = y + self.channels(self.norm2(y))
        u, v = functional.gelu(self.split(y)).chunk(2, -1)
        return (y + self.join(u * self.gate(self.gate_norm(v)))).mean(1)


@network(FIXED, x=normal("N", 3, 16, 16))
def mlp_mixer() -> nn.Module:
    return Mixer()


class PoolFormer(nn.Module):
    """Pools in the place of attention, in norms of one group."""

    def __init__(self) -> None:
        super().__init__()
        self.patch, self.norm = nn.Conv2d(3, 8, 7, 4, 2), nn.GroupNorm(1, 8)
        self.pool = nn.AvgPool2d(3, 1, 1, count_include_pad=False)
        self.scale = nn.Parameter(torch.ones(8))
        self.mlp = nn.Sequential(nn.GroupNorm(1, 8), nn.Conv2d(8, 16, 1), nn.GELU(), nn.Conv2d(16, 8, 1))

    def forward(self, x: Tensor) -> Tensor:
        y = self.patch(x)
        z = self.norm(y)
        y = y + self.scale[:, None, None] * (self.pool(z) - z)
        return (y + self.mlp(y)).mean((-2, -1))


@network(IMAGES, x=normal("N", 3, "H", "W"))
def poolformer() -> nn.Module:
    return PoolFormer()


class MaxViT(nn.Module):
    """Attention over a sparse grid of pixels, after squeeze and excitation."""

    def __init__(self) -> None:
        super().__init__()
        self.stem, self.attention, self.norm = conv_norm(3, 8, 3, 2), SelfAttention(8, 2), nn.LayerNorm(8)

    def forward(self, x: Tensor) -> Tensor:
        y = self.stem(x).permute(0, 2, 3, 1)
        n, h, w, c = y.shape
        z = y.view(n, 2, h // 2, 2, w // 2, c).permute(0, 2, 4, 1, 3, 5).reshape(-1, 4, c)
        z = self.attention(self.norm(z))
        z = z.view(n, h // 2, w // 2, 2, 2, c).permute(0, 3, 1, 4, 2, 5).reshape(n, h, w, c)
        return (y + z).permute(0, 3, 1, 2)


@network(sizes("N A B", (2, 3, 5), (1, 4, 4), (3, 2, 3), (1, 5, 1)), x=normal("N", 3, "4 * A", "4 * B"))
def maxvit_grid() -> nn.Module:
    return MaxViT()


class CLIP(nn.Module):
    """An encoder of images and one of texts, whose normalized embeddings are compared."""

    def __init__(self) -> None:
        super().__init__()
        self.patch, self.image = nn.Conv2d(3, 8, 8, 8), Block(8, 2)
        self.words, self.text = nn.Linear(6, 8), Block(8, 2, causal=True)
        self.scale = nn.Parameter(torch.tensor(1.0))

    def forward(self, image: Tensor, text: Tensor) -> Tensor:
        a = self.image(self.patch(image).flatten(2).transpose(1, 2)).mean(1)
        b = self.text(self.words(text))[:, -1]
        a, b = a / a.norm(dim=-1, keepdim=True), b / b.norm(dim=-1, keepdim=True)
        return self.scale.exp() * a @ b.t()


@network(
    sizes("N M L", (2, 3, 5), (1, 2, 7), (3, 1, 4), (4, 5, 2)),
    image=normal("N", 3, 16, 24),
    text=normal("M", "L", 6),
)
def clip() -> nn.Module:
    return CLIP()
