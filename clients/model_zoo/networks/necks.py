"""Necks of detectors and heads of segmentation: maps of several scales that are resized to one another and fused."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from model_zoo.networks.layers import conv_norm
from model_zoo.registry import network, normal, sizes

IMAGES = sizes("N H W", (2, 33, 47), (1, 64, 48), (3, 36, 70), (1, 95, 41))


class Pyramid(nn.Module):
    """Three maps of an image, of strides 2, 4 and 8 and `width` channels each."""

    def __init__(self, width: int = 8) -> None:
        super().__init__()
        self.levels = nn.ModuleList(
            [conv_norm(3, width, 3, 2), conv_norm(width, width, 3, 2), conv_norm(width, width, 3, 2)]
        )

    def forward(self, x: Tensor) -> list[Tensor]:
        maps = []
        for level in self.levels:
            x = level(x)
            maps.append(x)
        return maps


def resize_as(x: Tensor, y: Tensor, mode: str = "nearest") -> Tensor:
    return functional.interpolate(x, size=y.shape[-2:], mode=mode)


class FPN(nn.Module):
    def __init__(self, mode: str) -> None:
        super().__init__()
        self.mode, self.body = mode, Pyramid()
        self.lateral = nn.ModuleList([nn.Conv2d(8, 8, 1) for _ in range(3)])
        self.smooth = nn.ModuleList([nn.Conv2d(8, 8, 3, padding=1) for _ in range(3)])

    def forward(self, x: Tensor) -> list[Tensor]:
        maps = [layer(y) for layer, y in zip(self.lateral, self.body(x), strict=True)]
        for i in (1, 0):
            maps[i] = maps[i] + resize_as(maps[i + 1], maps[i], self.mode)
        return [layer(y) for layer, y in zip(self.smooth, maps, strict=True)]


@network(IMAGES, x=normal("N", 3, "H", "W"))
def fpn() -> nn.Module:
    return FPN("nearest")


@network(IMAGES, x=normal("N", 3, "H", "W"))
def fpn_bilinear() -> nn.Module:
    return FPN("bilinear")


class PAN(nn.Module):
    """A path of upsampled maps and one of strided convolutions back, both concatenated: the neck of YOLO."""

    def __init__(self) -> None:
        super().__init__()
        self.body = Pyramid()
        self.top = nn.ModuleList([conv_norm(16, 8, 1), conv_norm(16, 8, 1)])
        self.down = nn.ModuleList([conv_norm(8, 8, 3, 2), conv_norm(8, 8, 3, 2)])
        self.bottom = nn.ModuleList([conv_norm(16, 8), conv_norm(16, 8)])

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        p3, p4, p5 = self.body(x)
        n4 = self.top[0](torch.cat([resize_as(p5, p4), p4], 1))
        n3 = self.top[1](torch.cat([resize_as(n4, p3), p3], 1))
        n4 = self.bottom[0](torch.cat([self.down[0](n3), n4], 1))
        n5 = self.bottom[1](torch.cat([self.down[1](n4), p5], 1))
        return n3, n4, n5


@network(IMAGES, x=normal("N", 3, "H", "W"))
def pan() -> nn.Module:
    return PAN()


class Fusion(nn.Module):
    """The sum of maps by weights that are positive and sum up to 1, and a separable convolution."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self.weights = nn.Parameter(torch.ones(count))
        self.depthwise = nn.Conv2d(8, 8, 3, padding=1, groups=8, bias=False)
        self.pointwise = conv_norm(8, 8, 1)

    def forward(self, *maps: Tensor) -> Tensor:
        weights = functional.relu(self.weights)
        weights = weights / (weights.sum() + 1e-4)
        total = torch.stack([w * y for w, y in zip(weights.unbind(0), maps, strict=True)]).sum(0)
        return self.pointwise(self.depthwise(functional.silu(total)))


class BiFPN(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = Pyramid()
        self.td4, self.td3 = Fusion(2), Fusion(2)
        self.bu4, self.bu5 = Fusion(3), Fusion(2)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        p3, p4, p5 = self.body(x)
        t4 = self.td4(p4, resize_as(p5, p4))
        o3 = self.td3(p3, resize_as(t4, p3))
        o4 = self.bu4(p4, t4, functional.adaptive_max_pool2d(o3, 1) + t4)
        down = functional.max_pool2d(o4, 3, 2, 1)
        return o3, o4, self.bu5(p5, resize_as(down, p5))


@network(IMAGES, x=normal("N", 3, "H", "W"))
def bifpn() -> nn.Module:
    return BiFPN()


class HRNet(nn.Module):
    """Two branches that exchange their maps twice, concatenated in the size of the finer one."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = conv_norm(3, 8, 3, 2)
        self.fine = nn.ModuleList([conv_norm(8, 4), conv_norm(4, 4)])
        self.coarse = nn.ModuleList([conv_norm(8, 8, 3, 2), conv_norm(8, 8)])
        self.to_fine = nn.ModuleList([nn.Conv2d(8, 4, 1), nn.Conv2d(8, 4, 1)])
        self.to_coarse = nn.ModuleList([nn.Conv2d(4, 8, 3, 2, 1), nn.Conv2d(4, 8, 3, 2, 1)])
        self.head = nn.Conv2d(12, 3, 1)

    def forward(self, x: Tensor) -> Tensor:
        fine = coarse = self.stem(x)
        for i in range(2):
            a, b = self.fine[i](fine), self.coarse[i](coarse)
            fine = functional.relu(a + resize_as(self.to_fine[i](b), a, "bilinear"))
            coarse = functional.relu(b + self.to_coarse[i](a))
        return self.head(torch.cat([fine, resize_as(coarse, fine, "bilinear")], 1))


@network(IMAGES, x=normal("N", 3, "H", "W"))
def hrnet() -> nn.Module:
    return HRNet()


class ASPP(nn.Module):
    """Dilated convolutions and the mean of the image, concatenated."""

    def __init__(self, channels: int, width: int) -> None:
        super().__init__()
        self.branches = nn.ModuleList(
            [conv_norm(channels, width, 1)]
            + [conv_norm(channels, width, 3, dilation=rate) for rate in (2, 3, 5)]
        )
        self.mean = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(channels, width, 1), nn.ReLU())
        self.project = conv_norm(5 * width, width, 1)

    def forward(self, x: Tensor) -> Tensor:
        mean = functional.interpolate(self.mean(x), size=x.shape[2:], mode="bilinear")
        return self.project(torch.cat([*(branch(x) for branch in self.branches), mean], 1))


class DeepLab(nn.Module):
    """Version 3+: the pyramid of dilations joins a map of low level."""

    def __init__(self) -> None:
        super().__init__()
        self.body, self.aspp = Pyramid(), ASPP(8, 6)
        self.low, self.fuse, self.head = conv_norm(8, 4, 1), conv_norm(10, 8), nn.Conv2d(8, 3, 1)

    def forward(self, x: Tensor) -> Tensor:
        low, _, high = self.body(x)
        high = resize_as(self.aspp(high), low, "bilinear")
        y = self.head(self.fuse(torch.cat([self.low(low), high], 1)))
        return functional.interpolate(y, size=x.shape[2:], mode="bilinear", align_corners=False)


@network(IMAGES, x=normal("N", 3, "H", "W"))
def deeplab() -> nn.Module:
    return DeepLab()


class PSPNet(nn.Module):
    """Means over 1, 2, 3 and 6 parts of each side; pooled maps of fixed size are resized to a dynamic one."""

    def __init__(self, bins: tuple[int, ...]) -> None:
        super().__init__()
        self.body = conv_norm(3, 8, 3, 2)
        self.stages = nn.ModuleList(
            [nn.Sequential(nn.AdaptiveAvgPool2d(bin), nn.Conv2d(8, 2, 1), nn.ReLU()) for bin in bins]
        )
        self.head = nn.Conv2d(8 + 2 * len(bins), 3, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        y = self.body(x)
        maps = [resize_as(stage(y), y, "bilinear") for stage in self.stages]
        return resize_as(self.head(torch.cat([y, *maps], 1)), x, "bilinear")


@network(sizes("N H W", *[(n, 24, 36) for n in (2, 1, 3, 5)]), x=normal("N", 3, 24, 36))
def pspnet() -> nn.Module:
    return PSPNet((1, 2, 3, 6))


@network(IMAGES, x=normal("N", 3, "H", "W"))
def pspnet_of_means() -> nn.Module:
    return PSPNet((1, 1))


class UPerHead(nn.Module):
    """Maps of all scales resized to the finest and concatenated, twice."""

    def __init__(self) -> None:
        super().__init__()
        self.body, self.neck = Pyramid(4), nn.ModuleList([nn.Conv2d(4, 4, 1) for _ in range(3)])
        self.fuse, self.head = conv_norm(12, 8), nn.Conv2d(8, 2, 1)

    def forward(self, x: Tensor) -> Tensor:
        maps = [layer(y) for layer, y in zip(self.neck, self.body(x), strict=True)]
        for i in (1, 0):
            maps[i] = maps[i] + functional.interpolate(
                maps[i + 1], size=maps[i].shape[2:], mode="bilinear", align_corners=True
            )
        joined = torch.cat([maps[0], *(resize_as(y, maps[0], "bilinear") for y in maps[1:])], 1)
        return resize_as(self.head(self.fuse(joined)), x, "bilinear")


@network(IMAGES, x=normal("N", 3, "H", "W"))
def upernet() -> nn.Module:
    return UPerHead()


class SPPF(nn.Module):
    """YOLO's pyramid of max pools that keep the size."""

    def __init__(self) -> None:
        super().__init__()
        self.body, self.before, self.after = Pyramid(), conv_norm(8, 4, 1), conv_norm(16, 8, 1)

    def forward(self, x: Tensor) -> Tensor:
        y = self.before(self.body(x)[2])
        maps = [y]
        for _ in range(3):
            maps.append(functional.max_pool2d(maps[-1], 5, 1, 2))
        return self.after(torch.cat(maps, 1))


@network(IMAGES, x=normal("N", 3, "H", "W"))
def sppf() -> nn.Module:
    return SPPF()


class BiSeNet(nn.Module):
    """A path of detail and one of context, each weighted by the other."""

    def __init__(self) -> None:
        super().__init__()
        self.detail, self.context = conv_norm(3, 8, 3, 2), Pyramid()
        self.attention = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(8, 8, 1), nn.Sigmoid())
        self.left, self.right = conv_norm(8, 8, 3, groups=8), nn.Conv2d(8, 8, 1)
        self.head = nn.Conv2d(8, 3, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        detail, context = self.detail(x), self.context(x)[2]
        context = context * self.attention(context)
        y = self.left(detail) * torch.sigmoid(resize_as(self.right(context), detail, "bilinear"))
        y = y + resize_as(context, detail, "bilinear")
        return resize_as(self.head(y), x, "bilinear")


@network(IMAGES, x=normal("N", 3, "H", "W"))
def bisenet() -> nn.Module:
    return BiSeNet()


class LiteRASPP(nn.Module):
    """MobileNetV3's head: a large average pool gates a map."""

    def __init__(self) -> None:
        super().__init__()
        self.body, self.conv = Pyramid(), conv_norm(8, 8, 1)
        self.scale = nn.Sequential(nn.AvgPool2d(5, 4, 2), nn.Conv2d(8, 8, 1, bias=False), nn.Sigmoid())
        self.low, self.high = nn.Conv2d(8, 3, 1), nn.Conv2d(8, 3, 1)

    def forward(self, x: Tensor) -> Tensor:
        low, _, high = self.body(x)
        y = self.conv(high) * resize_as(self.scale(high), high, "bilinear")
        return self.low(low) + self.high(resize_as(y, low, "bilinear"))


@network(IMAGES, x=normal("N", 3, "H", "W"))
def lite_raspp() -> nn.Module:
    return LiteRASPP()
