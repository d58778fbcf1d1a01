"""Images from images: enlarged, in another style, and from maps of classes."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from model_zoo.registry import network, normal, sizes, uniform

IMAGES = sizes("N H W", (2, 24, 36), (1, 32, 20), (3, 17, 25), (1, 40, 44))


class ESRGAN(nn.Module):
    """Dense blocks whose residuals are scaled, and enlargement by repeated pixels and by shuffled ones."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(3, 6, 3, 1, 1)
        self.convs = nn.ModuleList([nn.Conv2d(6 + 4 * i, 4 if i < 2 else 6, 3, 1, 1) for i in range(3)])
        self.up, self.shuffle = nn.Conv2d(6, 6, 3, 1, 1), nn.Conv2d(6, 12, 3, 1, 1)

    def forward(self, x: Tensor) -> Tensor:
        y = self.first(x)
        maps = [y]
        for conv in self.convs[:2]:
            maps.append(functional.leaky_relu(conv(torch.cat(maps, 1)), 0.2))
        y = y + 0.2 * self.convs[2](torch.cat(maps, 1))
        y = functional.leaky_relu(self.up(functional.interpolate(y, scale_factor=2, mode="nearest")), 0.2)
        y = functional.pixel_shuffle(self.shuffle(y), 2)
        return y + functional.interpolate(x, scale_factor=4.0, mode="bicubic", align_corners=False)


@network(sizes("N H W", (2, 6, 9), (1, 8, 5), (3, 3, 4), (1, 10, 11)), x=normal("N", 3, "H", "W"))
def esrgan() -> nn.Module:
    return ESRGAN()


class CycleGAN(nn.Module):
    """Reflected borders, instance norms, residuals and transposed convolutions with output padding."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Sequential(nn.ReflectionPad2d(3), nn.Conv2d(3, 4, 7), nn.InstanceNorm2d(4), nn.ReLU())
        self.down = nn.Sequential(nn.Conv2d(4, 8, 3, 2, 1), nn.InstanceNorm2d(8), nn.ReLU())
        self.block = nn.Sequential(
            nn.ReflectionPad2d(1), nn.Conv2d(8, 8, 3), nn.InstanceNorm2d(8, affine=True), nn.ReLU()
        )
        self.up = nn.Sequential(
            nn.ConvTranspose2d(8, 4, 3, 2, 1, output_padding=1), nn.InstanceNorm2d(4), nn.ReLU()
        )
        self.last = nn.Sequential(nn.ReflectionPad2d(3), nn.Conv2d(4, 3, 7), nn.Tanh())

    def forward(self, x: Tensor) -> Tensor:
        y = self.down(self.first(x))
        return self.last(self.up(y + self.block(y)))


@network(IMAGES, x=normal("N", 3, "H", "W"))
def cyclegan() -> nn.Module:
    return CycleGAN()


class SPADE(nn.Module):
    """A norm whose scale and shift are maps made from a segmentation, and AdaIN's statistics of a style image."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.InstanceNorm2d(6)
        self.shared, self.gamma, self.beta = (
            nn.Conv2d(4, 8, 3, 1, 1),
            nn.Conv2d(8, 6, 3, 1, 1),
            nn.Conv2d(8, 6, 3, 1, 1),
        )
        self.conv = nn.Conv2d(6, 6, 3, 1, 1)

    def forward(self, x: Tensor, segments: Tensor, style: Tensor) -> Tensor:
        resized = functional.interpolate(segments, size=x.shape[2:], mode="nearest")
        y = functional.relu(self.shared(resized))
        y = self.conv(functional.relu(self.norm(x) * (1 + self.gamma(y)) + self.beta(y)))
        deviation, mean = torch.std_mean(style, dim=(2, 3), keepdim=True)
        own_deviation, own_mean = torch.std_mean(y, dim=(2, 3), keepdim=True)
        return (y - own_mean) / (own_deviation + 1e-5) * deviation + mean


@network(
    sizes("N H W A B", (2, 9, 7, 4, 6), (1, 8, 8, 16, 16), (3, 5, 6, 7, 3), (1, 12, 11, 6, 5)),
    x=normal("N", 6, "H", "W"),
    segments=uniform("N", 4, "A", "B"),
    style=normal("N", 6, "A", "B"),
)
def spade() -> nn.Module:
    return SPADE()
