"""Parts of diffusion models: transformers with conditions, and adapters of low rank."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from model_zoo.networks.layers import Block, CrossAttention
from model_zoo.registry import network, normal, sizes, uniform


class DiT(nn.Module):
    """A transformer whose norms are shifted, scaled and gated by time; patches are folded back to an image."""

    def __init__(self) -> None:
        super().__init__()
        self.patch, self.time = (
            nn.Conv2d(3, 8, 2, 2),
            nn.Sequential(nn.Linear(8, 8), nn.SiLU(), nn.Linear(8, 48)),
        )
        self.norm1, self.norm2 = (
            nn.LayerNorm(8, elementwise_affine=False),
            nn.LayerNorm(8, elementwise_affine=False),
        )
        self.attention, self.mlp = (
            CrossAttention(8, 8, 2),
            nn.Sequential(nn.Linear(8, 16), nn.GELU("tanh"), nn.Linear(16, 8)),
        )
        self.head = nn.Linear(8, 12)

    def forward(self, x: Tensor, t: Tensor) -> Tensor:
        rates = torch.exp(-math.log(1e3) * torch.arange(4, dtype=x.dtype, device=x.device) / 4)
        angles = 50 * t[:, None] * rates
        parts = self.time(torch.cat([angles.cos(), angles.sin()], -1))[:, None].chunk(6, -1)
        y = self.patch(x)
        n, _, h, w = y.shape
        y = y.flatten(2).transpose(1, 2)
        z = self.norm1(y) * (1 + parts[1]) + parts[0]
        y = y + parts[2] * self.attention(z, z)
        y = y + parts[5] * self.mlp(self.norm2(y) * (1 + parts[4]) + parts[3])
        y = self.head(y).reshape(n, h, w, 2, 2, 3)
        return torch.einsum("nhwpqc->nchpwq", y).reshape(n, 3, 2 * h, 2 * w)


@network(
    sizes("N A B", (2, 5, 7), (1, 8, 4), (3, 3, 3), (1, 2, 9)),
    x=normal("N", 3, "2 * A", "2 * B"),
    t=uniform("N"),
)
def dit() -> nn.Module:
    return DiT()


class SpatialTransformer(nn.Module):
    """Stable Diffusion's block: pixels attend to themselves and to a text, and a gated product."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.enter, self.exit = nn.GroupNorm(2, 8), nn.Conv2d(8, 8, 1), nn.Conv2d(8, 8, 1)
        self.norms = nn.ModuleList([nn.LayerNorm(8) for _ in range(3)])
        self.own, self.text = CrossAttention(8, 8, 2), CrossAttention(8, 6, 2)
        self.gated, self.out = nn.Linear(8, 32), nn.Linear(16, 8)

    def forward(self, x: Tensor, text: Tensor) -> Tensor:
        n, c, h, w = x.shape
        y = self.enter(self.norm(x)).permute(0, 2, 3, 1).reshape(n, h * w, c)
        z = self.norms[0](y)
        y = y + self.own(z, z)
        y = y + self.text(self.norms[1](y), text)
        a, gate = self.gated(self.norms[2](y)).chunk(2, -1)
        y = y + self.out(a * functional.gelu(gate))
        return x + self.exit(y.reshape(n, h, w, c).permute(0, 3, 1, 2))


@network(
    sizes("N H W L", (2, 5, 7, 4), (1, 8, 4, 6), (3, 3, 3, 2), (1, 2, 9, 1)),
    x=normal("N", 8, "H", "W"),
    text=normal("N", "L", 6),
)
def spatial_transformer() -> nn.Module:
    return SpatialTransformer()


class LoRABlock(nn.Module):
    """A frozen product with updates of low rank, in a block whose memory banks are fed."""

    def __init__(self) -> None:
        super().__init__()
        self.base, self.block = nn.Linear(8, 8), Block(8, 2)
        self.down, self.up = nn.Parameter(torch.randn(8, 2)), nn.Parameter(torch.randn(2, 8))

    def forward(self, x: Tensor) -> Tensor:
        return self.block(self.base(x) + 0.5 * (x @ self.down) @ self.up)


@network(sizes("N L", (2, 7), (1, 12), (3, 5), (1, 1)), x=normal("N", "L", 8))
def lora() -> nn.Module:
    return LoRABlock()
