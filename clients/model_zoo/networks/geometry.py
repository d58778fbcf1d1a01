"""Motion, depth, transformed images and matched points."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from model_zoo.networks.layers import conv_norm
from model_zoo.registry import network, normal, sizes

IMAGES = sizes("N H W", (2, 17, 22), (1, 24, 16), (3, 12, 19), (1, 32, 27))


def pixel_grid(x: Tensor) -> Tensor:
    """Coordinates (x, y) of the pixels of a map, [1, 2, height, width]."""
    ys = torch.arange(x.shape[2], device=x.device, dtype=x.dtype)
    xs = torch.arange(x.shape[3], device=x.device, dtype=x.dtype)
    grid = torch.meshgrid(ys, xs, indexing="ij")
    return torch.stack([grid[1], grid[0]])[None]


def warp(x: Tensor, flow: Tensor) -> Tensor:
    """x, sampled at the pixels that a flow points to."""
    places = (pixel_grid(x) + flow).permute(0, 2, 3, 1)
    return functional.grid_sample(x, relative(places, x), align_corners=True)


def relative(places: Tensor, x: Tensor) -> Tensor:
    """Coordinates [..., 2] of pixels of a map, as numbers from -1 to 1."""
    xs, ys = places.unbind(-1)
    return torch.stack([2 * xs / (x.shape[3] - 1) - 1, 2 * ys / (x.shape[2] - 1) - 1], -1)


class RAFT(nn.Module):
    """Correlation of all pairs of pixels, looked up around the current flow in two iterations of a GRU."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = conv_norm(3, 8, 3, 2)
        self.motion = nn.Conv2d(9 + 2, 6, 3, padding=1)
        self.z, self.r, self.q = (nn.Conv2d(8 + 6, 8, 3, padding=1) for _ in range(3))
        self.flow = nn.Conv2d(8, 2, 3, padding=1)
        around = torch.stack(torch.meshgrid(torch.arange(-1.0, 2), torch.arange(-1.0, 2), indexing="ij"), -1)
        self.register_buffer("around", around)

    def forward(self, first: Tensor, second: Tensor) -> tuple[Tensor, Tensor]:
        a, b = self.encoder(first), self.encoder(second)
        n, c, h, w = a.shape
        volume = (a.flatten(2).transpose(1, 2) @ b.flatten(2)) / c**0.5
        volume = volume.view(n * h * w, 1, h, w)
        state, flow = torch.tanh(a), torch.zeros(n, 2, h, w, dtype=a.dtype)
        for _ in range(2):
            centres = (pixel_grid(a) + flow).permute(0, 2, 3, 1).reshape(n * h * w, 1, 1, 2)
            grid = relative(centres + self.around, volume)
            near = functional.grid_sample(volume, grid, align_corners=True)
            near = near.view(n, h, w, 9).permute(0, 3, 1, 2)
            x = functional.relu(self.motion(torch.cat([near, flow], 1)))
            joined = torch.cat([state, x], 1)
            z, r = self.z(joined).sigmoid(), self.r(joined).sigmoid()
            state = (1 - z) * state + z * torch.tanh(self.q(torch.cat([r * state, x], 1)))
            flow = flow + self.flow(state)
        return 2 * functional.interpolate(flow, size=first.shape[2:], mode="bilinear"), state


@network(IMAGES, first=normal("N", 3, "H", "W"), second=normal("N", 3, "H", "W"))
def raft() -> nn.Module:
    return RAFT()


class PWCNet(nn.Module):
    """Warped maps and a cost volume of shifts, from coarse to fine."""

    def __init__(self) -> None:
        super().__init__()
        self.one, self.two = conv_norm(3, 6, 3, 2), conv_norm(6, 6, 3, 2)
        self.coarse, self.fine = nn.Conv2d(9 + 6, 2, 3, padding=1), nn.Conv2d(9 + 6 + 2, 2, 3, padding=1)

    def costs(self, a: Tensor, b: Tensor) -> Tensor:
        h, w = a.shape[2:]
        b = functional.pad(b, (1, 1, 1, 1))
        shifts = [b[:, :, y : y + h, x : x + w] for y in range(3) for x in range(3)]
        return torch.stack([(a * shifted).mean(1) for shifted in shifts], 1)

    def forward(self, first: Tensor, second: Tensor) -> Tensor:
        a1, b1 = self.one(first), self.one(second)
        a2, b2 = self.two(a1), self.two(b1)
        flow = self.coarse(torch.cat([self.costs(a2, b2), a2], 1))
        flow = 2 * functional.interpolate(flow, size=a1.shape[2:], mode="bilinear", align_corners=True)
        return flow + self.fine(torch.cat([self.costs(a1, warp(b1, flow)), a1, flow], 1))


@network(IMAGES, first=normal("N", 3, "H", "W"), second=normal("N", 3, "H", "W"))
def pwc_net() -> nn.Module:
    return PWCNet()


class Stereo(nn.Module):
    """A volume of shifted pairs, convolved in three dimensions, and the expected disparity."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder, self.volume = conv_norm(3, 4, 3, 2), nn.Conv3d(8, 4, 3, padding=1)
        self.head = nn.Conv3d(4, 1, 3, padding=1)

    def forward(self, left: Tensor, right: Tensor) -> Tensor:
        a, b = self.encoder(left), self.encoder(right)
        shifted = [functional.pad(b, (d, 0))[..., : a.shape[3]] for d in range(4)]
        volume = torch.stack([torch.cat([a, s], 1) for s in shifted], 2)
        costs = self.head(functional.relu(self.volume(volume)))[:, 0]
        costs = functional.interpolate(costs[:, None], scale_factor=(1, 2, 2), mode="trilinear")[:, 0]
        steps = torch.arange(4, dtype=left.dtype, device=left.device)[:, None, None]
        return (costs.softmax(1) * steps).sum(1)


@network(
    sizes("N A B", (2, 5, 7), (1, 8, 4), (3, 3, 6), (1, 2, 9)),
    left=normal("N", 3, "2 * A", "2 * B"),
    right=normal("N", 3, "2 * A", "2 * B"),
)
def stereo() -> nn.Module:
    return Stereo()


class DPT(nn.Module):
    """Depth: tokens reassembled as maps of several sizes, fused with residuals."""

    def __init__(self) -> None:
        super().__init__()
        self.patch = nn.Conv2d(3, 8, 4, 4)
        self.up, self.same, self.down = (
            nn.ConvTranspose2d(8, 6, 2, 2),
            nn.Conv2d(8, 6, 1),
            nn.Conv2d(8, 6, 3, 2, 1),
        )
        self.fusions = nn.ModuleList([nn.Conv2d(6, 6, 3, padding=1) for _ in range(3)])
        self.head = nn.Sequential(nn.Conv2d(6, 4, 3, padding=1), nn.ReLU(), nn.Conv2d(4, 1, 1), nn.ReLU())

    def fuse(self, i: int, x: Tensor, y: Tensor | None) -> Tensor:
        if y is not None:
            x = x + functional.interpolate(y, size=x.shape[2:], mode="bilinear", align_corners=True)
        return x + self.fusions[i](functional.relu(x))

    def forward(self, x: Tensor) -> Tensor:
        y = self.patch(x)
        maps = [self.up(y), self.same(y), self.down(y)]
        z = None
        for i in (2, 1, 0):
            z = self.fuse(i, maps[i], z)
        depth = self.head(functional.interpolate(z, size=x.shape[2:], mode="bilinear"))
        return depth[:, 0]


@network(IMAGES, x=normal("N", 3, "H", "W"))
def depth() -> nn.Module:
    return DPT()


class SpatialTransformerNetwork(nn.Module):
    """An affine transformation that the image itself tells, by affine_grid."""

    def __init__(self) -> None:
        super().__init__()
        self.locate = nn.Sequential(
            nn.Conv2d(1, 4, 5, 2), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 6)
        )
        self.conv = nn.Conv2d(1, 3, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        theta = self.locate(x).view(-1, 2, 3) * 0.3 + torch.eye(2, 3, dtype=x.dtype)
        rows = (2 * torch.arange(x.shape[2], dtype=x.dtype) + 1) / x.shape[2] - 1
        columns = (2 * torch.arange(x.shape[3], dtype=x.dtype) + 1) / x.shape[3] - 1
        ys, xs = torch.meshgrid(rows, columns, indexing="ij")
        points = torch.stack([xs, ys, torch.ones_like(xs)], -1).view(1, -1, 3)
        grid = (points @ theta.transpose(1, 2)).view(x.shape[0], x.shape[2], x.shape[3], 2)
        return self.conv(functional.grid_sample(x, grid, mode="bilinear", align_corners=False))


@network(IMAGES, x=normal("N", 1, "H", "W"))
def spatial_transformer_network() -> nn.Module:
    return SpatialTransformerNetwork()


class SuperPoint(nn.Module):
    """A cell's 4 x 4 pixels and a class for none of them, and normalized descriptors."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(conv_norm(1, 8, 3, 2), conv_norm(8, 8, 3, 2))
        self.points, self.descriptors = nn.Conv2d(8, 17, 1), nn.Conv2d(8, 6, 1)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        y = self.body(x)
        scores = self.points(y).softmax(1)[:, :-1]
        n, _, h, w = scores.shape
        scores = scores.permute(0, 2, 3, 1).reshape(n, h, w, 4, 4)
        scores = scores.permute(0, 1, 3, 2, 4).reshape(n, h * 4, w * 4)
        kept = torch.where(
            scores == functional.max_pool2d(scores[:, None], 5, 1, 2)[:, 0], scores, torch.zeros_like(scores)
        )
        return kept, functional.normalize(self.descriptors(y), p=2, dim=1)


@network(IMAGES, x=normal("N", 1, "H", "W"))
def superpoint() -> nn.Module:
    return SuperPoint()


class Matcher(nn.Module):
    """SuperGlue: scores of pairs with a bin for none, normalized by iterations of Sinkhorn."""

    def __init__(self) -> None:
        super().__init__()
        self.project, self.bin = nn.Linear(6, 6), nn.Parameter(torch.tensor(0.5))

    def forward(self, a: Tensor, b: Tensor) -> Tensor:
        scores = self.project(a) @ self.project(b).transpose(1, 2)
        n, p, q = scores.shape
        scores = torch.cat([scores, self.bin.expand(n, p, 1)], 2)
        scores = torch.cat([scores, self.bin.expand(n, 1, q + 1)], 1)
        u, v = torch.zeros_like(scores[:, :, 0]), torch.zeros_like(scores[:, 0])
        for _ in range(3):
            u = -torch.logsumexp(scores + v[:, None], 2)
            v = -torch.logsumexp(scores + u[:, :, None], 1)
        return (scores + u[:, :, None] + v[:, None]).exp()


@network(
    sizes("N P Q", (2, 7, 5), (1, 4, 9), (3, 12, 2), (1, 3, 3)),
    a=normal("N", "P", 6),
    b=normal("N", "Q", 6),
)
def superglue() -> nn.Module:
    return Matcher()
