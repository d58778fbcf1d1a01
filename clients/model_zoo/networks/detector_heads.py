"""Heads of detectors: queries that attend to features, suppression, and regions of interest."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from model_zoo.networks.layers import CrossAttention, SelfAttention, conv_norm
from model_zoo.networks.necks import Pyramid
from model_zoo.registry import network, normal, sizes, uniform

IMAGES = sizes("N H W", (2, 64, 96), (1, 96, 64), (3, 64, 64), (1, 40, 72))


class DETR(nn.Module):
    """A transformer over pixels with positions made from sizes, and learned queries."""

    def __init__(self) -> None:
        super().__init__()
        self.body, self.queries = Pyramid(), nn.Parameter(torch.randn(5, 8))
        self.encoder, self.cross, self.self_attention = (
            SelfAttention(8, 2),
            CrossAttention(8, 8, 2),
            SelfAttention(8, 2),
        )
        self.norms = nn.ModuleList([nn.LayerNorm(8) for _ in range(3)])
        self.classes, self.boxes = nn.Linear(8, 4), nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 4))

    def positions(self, y: Tensor) -> Tensor:
        rows = torch.arange(y.shape[2], device=y.device, dtype=y.dtype) / y.shape[2]
        columns = torch.arange(y.shape[3], device=y.device, dtype=y.dtype) / y.shape[3]
        rates = torch.tensor([1.0, 3.0], dtype=y.dtype)
        a = (rows[:, None] * rates)[:, None].expand(-1, y.shape[3], -1)
        b = (columns[:, None] * rates)[None].expand(y.shape[2], -1, -1)
        return torch.cat([a.sin(), a.cos(), b.sin(), b.cos()], -1).flatten(0, 1)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        y = self.body(x)[2]
        memory = y.flatten(2).transpose(1, 2) + self.positions(y)
        memory = self.norms[0](memory + self.encoder(memory))
        queries = self.queries.expand(x.shape[0], -1, -1)
        queries = self.norms[1](queries + self.self_attention(queries))
        queries = self.norms[2](queries + self.cross(queries, memory))
        return self.classes(queries).softmax(-1), self.boxes(queries).sigmoid()


@network(IMAGES, image=normal("N", 3, "H", "W"))
def detr() -> nn.Module:
    return DETR()


class DeformableAttention(nn.Module):
    """Samples two maps at learned offsets around reference points, by grid_sample."""

    def __init__(self) -> None:
        super().__init__()
        self.body = Pyramid()
        self.offsets, self.weights = nn.Linear(8, 2 * 3 * 2), nn.Linear(8, 2 * 3)
        self.queries, self.points = nn.Parameter(torch.randn(6, 8)), nn.Parameter(torch.rand(6, 2))
        self.out = nn.Linear(8, 8)

    def forward(self, x: Tensor) -> Tensor:
        n = x.shape[0]
        offsets = self.offsets(self.queries).view(6, 2, 3, 2).tanh() * 0.2
        weights = self.weights(self.queries).softmax(-1).view(6, 2, 3)
        total = torch.zeros(n, 8, 6, dtype=x.dtype)
        for level, y in enumerate(self.body(x)[1:]):
            grid = 2 * (self.points.sigmoid()[:, None] + offsets[:, level]) - 1
            sampled = functional.grid_sample(y, grid.expand(n, -1, -1, -1), align_corners=False)
            total = total + (sampled * weights[:, level]).sum(-1)
        return self.out(total.transpose(1, 2))


@network(IMAGES, image=normal("N", 3, "H", "W"))
def deformable_detr() -> nn.Module:
    return DeformableAttention()


class MatrixNMS(nn.Module):
    """SOLO's suppression: scores decayed by the overlap of boxes [n, 4] with better ones."""

    def forward(self, boxes: Tensor, scores: Tensor) -> tuple[Tensor, Tensor]:
        scores, order = scores.sort(descending=True)
        corners = boxes[order]
        corners = torch.cat([corners[:, :2], corners[:, :2] + corners[:, 2:]], 1)
        low = torch.maximum(corners[:, None, :2], corners[None, :, :2])
        high = torch.minimum(corners[:, None, 2:], corners[None, :, 2:])
        common = (high - low).clamp(min=0).prod(-1)
        areas = (corners[:, 2:] - corners[:, :2]).prod(-1)
        overlap = (common / (areas[:, None] + areas - common)).triu(1)
        most = overlap.max(0).values
        decay = ((1 - overlap) / (1 - most[:, None] + 1e-6)).min(0).values
        return corners, scores * decay


@network(
    sizes("B", (12,), (1,), (33,), (7,)),
    boxes=uniform("B", 4),
    scores=uniform("B"),
)
def matrix_nms() -> nn.Module:
    return MatrixNMS()


class RoIHead(nn.Module):
    """RoI align of given boxes by grid_sample, and a head of fully connected layers."""

    def __init__(self) -> None:
        super().__init__()
        self.body = conv_norm(3, 8, 3, 2)
        self.head = nn.Sequential(nn.Flatten(1), nn.Linear(8 * 9, 16), nn.ReLU(), nn.Linear(16, 5))

    def forward(self, image: Tensor, boxes: Tensor) -> Tensor:
        y = self.body(image)
        count = boxes.shape[1]
        steps = (torch.arange(3, device=y.device, dtype=y.dtype) + 0.5) / 3
        xs = boxes[..., 0:1] + steps * (boxes[..., 2:3] * 0.5)
        ys = boxes[..., 1:2] + steps * (boxes[..., 3:4] * 0.5)
        grid = torch.stack([xs[:, :, None].expand(-1, -1, 3, -1), ys[..., None].expand(-1, -1, -1, 3)], -1)
        grid = (2 * grid - 1).reshape(boxes.shape[0], count * 3, 3, 2)
        parts = functional.grid_sample(y, grid, align_corners=False, padding_mode="border")
        parts = parts.reshape(y.shape[0], 8, count, 3, 3).transpose(1, 2)
        return self.head(parts.reshape(-1, 8, 3, 3)).reshape(y.shape[0], count, 5)


@network(
    sizes("N H W B", (2, 32, 48, 3), (1, 40, 40, 5), (3, 24, 36, 2), (1, 33, 27, 1)),
    image=normal("N", 3, "H", "W"),
    boxes=uniform("N", "B", 4),
)
def roi_head() -> nn.Module:
    return RoIHead()
