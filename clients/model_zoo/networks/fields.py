"""Clouds of points, rays, and fields of coordinates."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from model_zoo.registry import network, normal, sizes, uniform


class NeRF(nn.Module):
    """Encoded points along rays, densities and colours, and their sum by transmittance."""

    def __init__(self) -> None:
        super().__init__()
        self.mlp = nn.Sequential(nn.Linear(3 + 18, 16), nn.ReLU(), nn.Linear(16, 16), nn.ReLU())
        self.density, self.colour = nn.Linear(16, 1), nn.Linear(16 + 3, 3)

    def encode(self, x: Tensor) -> Tensor:
        parts = [x]
        for k in range(3):
            parts += [torch.sin(2.0**k * x), torch.cos(2.0**k * x)]
        return torch.cat(parts, -1)

    def forward(self, origins: Tensor, directions: Tensor, depths: Tensor) -> tuple[Tensor, Tensor]:
        depths = depths.sort(-1).values
        points = origins[:, None] + directions[:, None] * depths[..., None]
        y = self.mlp(self.encode(points))
        colours = self.colour(torch.cat([y, directions[:, None].expand_as(points)], -1)).sigmoid()
        steps = torch.cat([depths[:, 1:] - depths[:, :-1], torch.full_like(depths[:, :1], 1e3)], 1)
        # Sums of optical depths: exporters have no products along an axis.
        depth = functional.softplus(self.density(y))[..., 0] * steps
        weights = (1 - torch.exp(-depth)) * torch.exp(depth - depth.cumsum(1))
        return (weights[..., None] * colours).sum(1), (weights * depths).sum(1)


@network(
    sizes("R S", (5, 7), (1, 12), (9, 3), (4, 16)),
    origins=normal("R", 3),
    directions=normal("R", 3),
    depths=uniform("R", "S"),
)
def nerf() -> nn.Module:
    return NeRF()


class HashGrid(nn.Module):
    """Instant NGP: features of the corners of a cell by a hash, interpolated."""

    def __init__(self) -> None:
        super().__init__()
        self.tables = nn.Parameter(torch.randn(2, 32, 3))
        self.mlp = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 4))

    def forward(self, x: Tensor) -> Tensor:
        parts = []
        for level, resolution in enumerate((4, 9)):
            places = x * resolution
            low = places.floor()
            offset, total = places - low, 0
            for corner in range(4):
                dx, dy = corner & 1, corner >> 1
                cx, cy = low[:, 0].long() + dx, low[:, 1].long() + dy
                index = (cx * 73 + cy * 19) % 32
                wx = offset[:, 0] if dx else 1 - offset[:, 0]
                wy = offset[:, 1] if dy else 1 - offset[:, 1]
                total = total + (wx * wy)[:, None] * self.tables[level][index]
            parts.append(total)
        return self.mlp(torch.cat(parts, 1))


@network(sizes("B", (12,), (1,), (33,), (7,)), x=uniform("B", 2))
def hash_grid() -> nn.Module:
    return HashGrid()


class SIREN(nn.Module):
    """Sines of products, of a density of Gaussians beside it."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b, self.c = nn.Linear(2, 8), nn.Linear(8, 8), nn.Linear(8, 3)
        self.means, self.logs = nn.Parameter(torch.rand(5, 2)), nn.Parameter(torch.zeros(5))

    def forward(self, x: Tensor) -> Tensor:
        y = torch.sin(3 * self.b(torch.sin(3 * self.a(x))))
        distances = (x[:, None] - self.means).pow(2).sum(-1)
        weights = torch.logsumexp(-distances * self.logs.exp(), 1, keepdim=True)
        return self.c(y) * weights


@network(sizes("B", (12,), (1,), (33,), (7,)), x=uniform("B", 2))
def siren() -> nn.Module:
    return SIREN()


class PointNet(nn.Module):
    """A transformation of points, shared layers, and the maximum over points."""

    def __init__(self) -> None:
        super().__init__()
        self.local = nn.Sequential(nn.Conv1d(3, 8, 1), nn.BatchNorm1d(8), nn.ReLU())
        self.transform = nn.Linear(8, 9)
        self.after = nn.Sequential(nn.Conv1d(3, 8, 1), nn.BatchNorm1d(8), nn.ReLU())
        self.segment = nn.Conv1d(16, 4, 1)

    def forward(self, x: Tensor) -> Tensor:
        matrix = self.transform(self.local(x).max(2).values).view(-1, 3, 3) + torch.eye(3, dtype=x.dtype)
        y = self.after(torch.bmm(x.transpose(2, 1), matrix).transpose(2, 1))
        whole = torch.max(y, 2, keepdim=True)[0].repeat(1, 1, x.shape[2])
        return self.segment(torch.cat([y, whole], 1)).log_softmax(1)


@network(sizes("N P", (2, 11), (1, 20), (3, 5), (1, 33)), x=normal("N", 3, "P"))
def pointnet() -> nn.Module:
    return PointNet()


class DGCNN(nn.Module):
    """Edges to the nearest points in the space of features, reduced to their maximum."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Conv2d(6, 6, 1), nn.Conv2d(12, 8, 1)
        self.head = nn.Linear(16, 4)

    def edges(self, x: Tensor) -> Tensor:
        """x: [n, c, p]; [n, 2 * c, p, 4]."""
        n, c, p = x.shape
        inner = -2 * x.transpose(2, 1) @ x
        squares = (x**2).sum(1, keepdim=True)
        nearest = (-squares - inner - squares.transpose(2, 1)).topk(4, -1).indices
        rows = x.transpose(2, 1)
        near = rows.gather(1, nearest.view(n, p * 4, 1).expand(-1, -1, c)).view(n, p, 4, c)
        own = rows[:, :, None].expand(-1, -1, 4, -1)
        return torch.cat([near - own, own], 3).permute(0, 3, 1, 2)

    def forward(self, x: Tensor) -> Tensor:
        y = functional.leaky_relu(self.first(self.edges(x)), 0.2).amax(-1)
        y = functional.leaky_relu(self.second(self.edges(y)), 0.2).amax(-1)
        return self.head(torch.cat([y.amax(-1), y.mean(-1)], 1))


@network(sizes("N P", (2, 11), (1, 20), (3, 5), (1, 33)), x=normal("N", 3, "P"))
def dgcnn() -> nn.Module:
    return DGCNN()
