"""Detectors with their decoding: grids of cells, distances to sides, heat maps and their peaks."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from model_zoo.networks.layers import conv_norm
from model_zoo.networks.necks import Pyramid
from model_zoo.registry import network, normal, sizes

IMAGES = sizes("N H W", (2, 64, 96), (1, 96, 64), (3, 64, 64), (1, 40, 72))


def cells(x: Tensor, stride: int) -> Tensor:
    """Centres of the cells of a map, [height * width, 2], in pixels of the image."""
    height, width = x.shape[-2:]
    rows = torch.arange(height, device=x.device, dtype=x.dtype) + 0.5
    columns = torch.arange(width, device=x.device, dtype=x.dtype) + 0.5
    grid = torch.stack(torch.meshgrid(rows, columns, indexing="ij"), -1)
    return grid.flip(-1).reshape(-1, 2) * stride


def from_distances(distances: Tensor, centres: Tensor) -> Tensor:
    """Boxes [..., 4] of the distances from centres to the four sides."""
    low, high = distances.chunk(2, -1)
    return torch.cat([centres - low, centres + high], -1)


class YOLOv5(nn.Module):
    """Anchors: cells decoded map by map, and concatenated."""

    def __init__(self) -> None:
        super().__init__()
        self.body = Pyramid()
        self.heads = nn.ModuleList([nn.Conv2d(8, 2 * 7, 1), nn.Conv2d(8, 2 * 7, 1)])
        self.register_buffer("anchors", torch.tensor([[[8.0, 12], [16, 10]], [[20, 30], [40, 24]]]))

    def forward(self, x: Tensor) -> Tensor:
        parts = []
        for i, (y, head) in enumerate(zip(self.body(x)[1:], self.heads, strict=True)):
            stride = 4 << i
            y = head(y)
            n, _, h, w = y.shape
            grid = cells(y, 1).view(1, 1, h, w, 2) - 0.5
            y = y.view(n, 2, 7, h, w).permute(0, 1, 3, 4, 2).sigmoid()
            xy = (y[..., 0:2] * 2 - 0.5 + grid) * stride
            wh = (y[..., 2:4] * 2) ** 2 * self.anchors[i].view(1, 2, 1, 1, 2)
            parts.append(torch.cat([xy, wh, y[..., 4:]], -1).view(n, 2 * h * w, 7))
        return torch.cat(parts, 1)


@network(IMAGES, image=normal("N", 3, "H", "W"))
def yolov5() -> nn.Module:
    return YOLOv5()


class YOLOv8(nn.Module):
    """Without anchors: distances are means of distributions."""

    BINS = 4

    def __init__(self) -> None:
        super().__init__()
        self.body = Pyramid()
        self.boxes = nn.ModuleList([nn.Conv2d(8, 4 * self.BINS, 1) for _ in range(3)])
        self.classes = nn.ModuleList([nn.Conv2d(8, 3, 1) for _ in range(3)])

    def forward(self, x: Tensor) -> Tensor:
        maps = self.body(x)
        boxes = torch.cat([head(y).flatten(2) for head, y in zip(self.boxes, maps, strict=True)], 2)
        scores = torch.cat([head(y).flatten(2) for head, y in zip(self.classes, maps, strict=True)], 2)
        centres = torch.cat([cells(y, 2 << i) for i, y in enumerate(maps)])
        n, _, count = boxes.shape
        bins = torch.arange(self.BINS, device=x.device, dtype=x.dtype)
        weights = boxes.view(n, 4, self.BINS, count).transpose(1, 2).softmax(1)
        distances = (weights * bins[:, None, None]).sum(1).transpose(1, 2)
        sides = from_distances(distances * 4, centres)
        return torch.cat([sides, scores.transpose(1, 2).sigmoid()], -1).transpose(1, 2)


@network(IMAGES, image=normal("N", 3, "H", "W"))
def yolov8() -> nn.Module:
    return YOLOv8()


class Focus(nn.Module):
    """YOLOX's stem: four phases of the pixels, concatenated."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.body = conv_norm(12, 8), conv_norm(8, 8, 3, 2)
        self.head = nn.Conv2d(8, 4 + 1 + 3, 1)

    def forward(self, x: Tensor) -> Tensor:
        parts = [x[..., ::2, ::2], x[..., 1::2, ::2], x[..., ::2, 1::2], x[..., 1::2, 1::2]]
        y = self.head(self.body(self.conv(torch.cat(parts, 1))))
        centres = cells(y, 4)
        y = y.flatten(2).transpose(1, 2)
        return torch.cat([y[..., :2] * 4 + centres, y[..., 2:4].exp() * 4, y[..., 4:].sigmoid()], -1)


@network(IMAGES, image=normal("N", 3, "H", "W"))
def yolox() -> nn.Module:
    return Focus()


class RetinaNet(nn.Module):
    """Boxes relative to anchors that are made from the sizes of the maps; the best of each image."""

    def __init__(self) -> None:
        super().__init__()
        self.body = Pyramid()
        self.tower, self.classes = conv_norm(8, 8), nn.Conv2d(8, 2 * 3, 3, padding=1)
        self.boxes = nn.Conv2d(8, 2 * 4, 3, padding=1)

    def forward(self, image: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        scores, boxes = [], []
        for i, y in enumerate(self.body(image)):
            y = self.tower(y)
            scores.append(self.classes(y).permute(0, 2, 3, 1).reshape(y.shape[0], -1, 3))
            deltas = self.boxes(y).permute(0, 2, 3, 1).reshape(y.shape[0], -1, 4)
            centres = cells(y, 2 << i)[:, None].expand(-1, 2, -1).reshape(-1, 2)
            extent = torch.tensor([8.0, 16.0], dtype=y.dtype).repeat(y.shape[2] * y.shape[3])[:, None]
            middle = centres + deltas[..., :2] * extent
            half = deltas[..., 2:].clamp(max=4.0).exp() * extent / 2
            boxes.append(torch.cat([middle - half, middle + half], -1))
        best, labels = torch.cat(scores, 1).sigmoid().max(-1)
        top, order = best.topk(10, 1)
        chosen = torch.cat(boxes, 1).gather(1, order[..., None].expand(-1, -1, 4))
        return chosen, top, labels.gather(1, order)


@network(IMAGES, image=normal("N", 3, "H", "W"))
def retinanet() -> nn.Module:
    return RetinaNet()


class FCOS(nn.Module):
    """Group norms in shared towers, scales of levels and centerness."""

    def __init__(self) -> None:
        super().__init__()
        self.body = Pyramid()
        self.tower = nn.Sequential(nn.Conv2d(8, 8, 3, padding=1), nn.GroupNorm(2, 8), nn.ReLU())
        self.classes, self.sides, self.centre = nn.Conv2d(8, 3, 1), nn.Conv2d(8, 4, 1), nn.Conv2d(8, 1, 1)
        self.scales = nn.Parameter(torch.ones(3))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        boxes, scores = [], []
        for i, y in enumerate(self.body(x)):
            y = self.tower(y)
            sides = functional.softplus(self.sides(y) * self.scales[i]).flatten(2).transpose(1, 2)
            boxes.append(from_distances(sides * (2 << i), cells(y, 2 << i)))
            quality = self.classes(y).sigmoid() * self.centre(y).sigmoid()
            scores.append(quality.sqrt().flatten(2).transpose(1, 2))
        return torch.cat(boxes, 1), torch.cat(scores, 1)


@network(IMAGES, image=normal("N", 3, "H", "W"))
def fcos() -> nn.Module:
    return FCOS()


class CenterNet(nn.Module):
    """Peaks of a heat map, found by a max pool, and the sizes at the best of them."""

    def __init__(self) -> None:
        super().__init__()
        self.body, self.up = Pyramid(), nn.ConvTranspose2d(8, 8, 4, 2, 1, groups=8)
        self.heat, self.size = nn.Conv2d(8, 2, 1), nn.Conv2d(8, 4, 1)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        y = self.up(self.body(x)[1])
        heat = self.heat(y).sigmoid()
        heat = heat * (functional.max_pool2d(heat, 3, 1, 1) == heat).to(heat.dtype)
        top, order = heat.flatten(1).topk(8)
        count = y.shape[2] * y.shape[3]
        classes, pixels = order // count, order % count
        sides = self.size(y).flatten(2).transpose(1, 2)
        chosen = sides.gather(1, pixels[..., None].expand(-1, -1, 4))
        ys, xs = pixels // y.shape[3], pixels % y.shape[3]
        centres = torch.stack([xs, ys], -1).to(x.dtype)
        return torch.cat([centres + chosen[..., :2], chosen[..., 2:].exp()], -1), top, classes


@network(IMAGES, image=normal("N", 3, "H", "W"))
def centernet() -> nn.Module:
    return CenterNet()


class Keypoints(nn.Module):
    """Simple baselines: transposed convolutions, and the expected position of each heat map."""

    def __init__(self) -> None:
        super().__init__()
        self.body = Pyramid()
        up = [nn.ConvTranspose2d(8, 8, 4, 2, 1, bias=False), nn.BatchNorm2d(8), nn.ReLU()]
        self.head = nn.Sequential(*up, nn.Conv2d(8, 5, 1))

    def forward(self, x: Tensor) -> Tensor:
        heat = self.head(self.body(x)[1])
        weights = heat.flatten(2).softmax(-1).view_as(heat)
        xs = torch.arange(heat.shape[3], device=x.device, dtype=x.dtype)
        ys = torch.arange(heat.shape[2], device=x.device, dtype=x.dtype)
        return torch.stack([(weights.sum(2) * xs).sum(-1), (weights.sum(3) * ys).sum(-1)], -1)


@network(IMAGES, image=normal("N", 3, "H", "W"))
def keypoints() -> nn.Module:
    return Keypoints()


class DBNet(nn.Module):
    """Differentiable binarization of text: two maps of a fused pyramid in the size of the image."""

    def __init__(self) -> None:
        super().__init__()
        self.body, self.fuse = Pyramid(4), conv_norm(12, 8)
        self.probability, self.threshold = self.branch(), self.branch()

    def branch(self) -> nn.Module:
        up = nn.ConvTranspose2d(8, 4, 2, 2)
        return nn.Sequential(up, nn.BatchNorm2d(4), nn.ReLU(), nn.Conv2d(4, 1, 1), nn.Sigmoid())

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        a, b, c = self.body(x)
        fine = a.shape[-2:]
        maps = [a, *(functional.interpolate(y, size=fine, mode="nearest") for y in (b, c))]
        y = self.fuse(torch.cat(maps, 1))
        p, t = self.probability(y), self.threshold(y)
        return p, torch.reciprocal(1 + torch.exp(-50 * (p - t)))


@network(IMAGES, image=normal("N", 3, "H", "W"))
def dbnet() -> nn.Module:
    return DBNet()
