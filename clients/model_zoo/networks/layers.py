"""Layers that networks of several families share."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional


def conv_norm(channels: int, width: int, size: int = 3, stride: int = 1, **options: int) -> nn.Module:
    """A convolution that keeps the size if its stride is 1, a batch norm and SiLU."""
    padding = (size - 1) // 2 * options.get("dilation", 1)
    conv = nn.Conv2d(channels, width, size, stride, padding, bias=False, **options)
    return nn.Sequential(conv, nn.BatchNorm2d(width), nn.SiLU())


def classifier(channels: int) -> nn.Module:
    return nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, 5))


class SelfAttention(nn.Module):
    """Attention of one packed projection, over [batch, length, width].  mask: added to the scores, or of bool."""

    def __init__(self, width: int, heads: int, *, causal: bool = False) -> None:
        super().__init__()
        self.heads, self.causal = heads, causal
        self.packed, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        batch, length, width = x.shape
        packed = self.packed(x).view(batch, length, 3, self.heads, width // self.heads)
        q, k, v = packed.permute(2, 0, 3, 1, 4).unbind(0)
        y = functional.scaled_dot_product_attention(q, k, v, mask, is_causal=self.causal)
        return self.out(y.transpose(1, 2).reshape(batch, length, width))


class Block(nn.Module):
    """A transformer block whose norms are in front."""

    def __init__(self, width: int, heads: int, *, causal: bool = False) -> None:
        super().__init__()
        self.attention = SelfAttention(width, heads, causal=causal)
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        x = x + self.attention(self.norm1(x), mask)
        return x + self.mlp(self.norm2(x))


class CrossAttention(nn.Module):
    """Queries [batch, n, width] attend to a memory [batch, m, size].  mask: as of scaled_dot_product_attention."""

    def __init__(self, width: int, size: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v = nn.Linear(width, width), nn.Linear(size, width), nn.Linear(size, width)
        self.out = nn.Linear(width, width)

    def split(self, x: Tensor) -> Tensor:
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def forward(self, x: Tensor, memory: Tensor, mask: Tensor | None = None) -> Tensor:
        q, k, v = self.split(self.q(x)), self.split(self.k(memory)), self.split(self.v(memory))
        y = functional.scaled_dot_product_attention(q, k, v, mask)
        return self.out(y.transpose(1, 2).flatten(2))


class RMSNorm(nn.Module):
    """The norm of Llama, written out."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: Tensor) -> Tensor:
        return self.weight * x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)


def rotary(x: Tensor, first: int | Tensor = 0) -> Tensor:
    """Rotary embedding of x [batch, heads, length, width] whose first position is `first`."""
    width = x.shape[-1]
    rates = 100.0 ** (-torch.arange(0, width, 2, device=x.device) / width)
    angles = (torch.arange(x.shape[2], device=x.device) + first)[:, None] * rates
    cos, sin = torch.cat([angles, angles], -1).cos(), torch.cat([angles, angles], -1).sin()
    a, b = x.chunk(2, -1)
    return (x * cos + torch.cat([-b, a], -1) * sin).to(x.dtype)
