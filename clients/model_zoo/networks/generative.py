"""Generators: autoencoders, adversarial models and flows."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from model_zoo.networks.layers import conv_norm
from model_zoo.registry import network, normal, sizes, uniform

IMAGES = sizes("N H W", (2, 24, 36), (1, 32, 20), (3, 17, 25), (1, 40, 44))
BATCHES = sizes("N", (2,), (1,), (3,), (5,))


class VAE(nn.Module):
    """Encoder, a sample from fed noise, decoder, and the divergence from the prior."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Sequential(conv_norm(3, 8, 3, 2), nn.Conv2d(8, 8, 3, 2, 1))
        self.decoder = nn.Sequential(
            nn.ConvTranspose2d(4, 8, 4, 2, 1), nn.ReLU(), nn.ConvTranspose2d(8, 3, 4, 2, 1), nn.Sigmoid()
        )

    def forward(self, x: Tensor, noise: Tensor) -> tuple[Tensor, Tensor]:
        mean, logs = self.encoder(x).chunk(2, 1)
        logs = logs.clamp(-6, 4)
        divergence = -0.5 * (1 + logs - mean**2 - logs.exp()).sum((1, 2, 3))
        return self.decoder(mean + (0.5 * logs).exp() * noise), divergence


@network(
    sizes("N A B", (2, 5, 7), (1, 8, 4), (3, 3, 3), (1, 2, 9)),
    x=normal("N", 3, "4 * A", "4 * B"),
    noise=normal("N", 4, "A", "B"),
)
def vae() -> nn.Module:
    return VAE()


class VQVAE(nn.Module):
    """The nearest codes of pixels, and an image from them."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder, self.codes = nn.Conv2d(3, 8, 4, 2, 1), nn.Parameter(torch.randn(12, 8))
        self.decoder = nn.Sequential(nn.Conv2d(8, 12, 3, 1, 1), nn.PixelShuffle(2))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        z = self.encoder(x).permute(0, 2, 3, 1)
        distances = torch.cdist(z.flatten(0, 2), self.codes)
        nearest = distances.argmin(1)
        quantized = self.codes[nearest].view(z.shape)
        return self.decoder(quantized.permute(0, 3, 1, 2)), nearest.view(z.shape[:3])


@network(sizes("N A B", (2, 5, 7), (1, 8, 4), (3, 3, 3), (1, 2, 9)), x=normal("N", 3, "2 * A", "2 * B"))
def vqvae() -> nn.Module:
    return VQVAE()


@network(BATCHES, z=normal("N", 10))
def dcgan() -> nn.Module:
    """A vector to an image by transposed convolutions."""
    return nn.Sequential(
        nn.Unflatten(1, (10, 1, 1)),
        nn.ConvTranspose2d(10, 12, 4, 1, 0, bias=False),
        nn.BatchNorm2d(12),
        nn.ReLU(),
        nn.ConvTranspose2d(12, 8, 4, 2, 1, bias=False),
        nn.BatchNorm2d(8),
        nn.ReLU(),
        nn.ConvTranspose2d(8, 3, 3, 2, 1, output_padding=1),
        nn.Tanh(),
    )


class ModulatedConv(nn.Module):
    """StyleGAN2: a kernel for each image of the batch, as groups of one convolution."""

    def __init__(self, channels: int, width: int, *, up: bool) -> None:
        super().__init__()
        self.up, self.weight = up, nn.Parameter(torch.randn(width, channels, 3, 3))
        self.style, self.bias = nn.Linear(6, channels), nn.Parameter(torch.zeros(width))

    def forward(self, x: Tensor, style: Tensor) -> Tensor:
        n, c, h, w = x.shape
        weight = self.weight[None] * (self.style(style) + 1)[:, None, :, None, None]
        weight = weight * torch.rsqrt(weight.pow(2).sum((2, 3, 4), keepdim=True) + 1e-8)
        width = weight.shape[1]
        x = x.reshape(1, n * c, h, w)
        if self.up:
            kernel = weight.transpose(1, 2).reshape(n * c, width, 3, 3)
            y = functional.conv_transpose2d(x, kernel, stride=2, padding=1, output_padding=1, groups=n)
        else:
            y = functional.conv2d(x, weight.reshape(n * width, c, 3, 3), padding=1, groups=n)
        y = y.view(n, width, y.shape[2], y.shape[3])
        return functional.leaky_relu(y + self.bias[:, None, None], 0.2) * math.sqrt(2)


class StyleGAN(nn.Module):
    """Batches of fixed size, since groups are a number in an exported file."""

    def __init__(self) -> None:
        super().__init__()
        self.mapping = nn.Sequential(nn.Linear(6, 6), nn.LeakyReLU(0.2), nn.Linear(6, 6))
        self.conv1, self.conv2 = ModulatedConv(6, 6, up=False), ModulatedConv(6, 4, up=True)
        self.rgb = nn.ModuleList([nn.Conv2d(6, 3, 1), nn.Conv2d(4, 3, 1)])

    def forward(self, z: Tensor, x: Tensor) -> Tensor:
        style = self.mapping(z * torch.rsqrt(z.pow(2).mean(1, keepdim=True) + 1e-8))
        x = self.conv1(x, style)
        image = functional.interpolate(self.rgb[0](x), scale_factor=2, mode="bilinear")
        return image + self.rgb[1](self.conv2(x, style))


@network(
    sizes("H W", (5, 7), (8, 4), (3, 3), (6, 11)),
    z=normal(2, 6),
    x=normal(2, 6, "H", "W"),
)
def stylegan() -> nn.Module:
    return StyleGAN()


class PixelCNN(nn.Module):
    """Convolutions whose kernels are masked in the graph, and gates."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Conv2d(1, 8, 5, padding=2), nn.Conv2d(4, 8, 3, padding=1)
        first, second = torch.ones(5, 5), torch.ones(3, 3)
        first[2, 2:], first[3:], second[1, 2:], second[2:] = 0, 0, 0, 0
        self.register_buffer("mask1", first)
        self.register_buffer("mask2", second)
        self.head = nn.Conv2d(4, 6, 1)

    def forward(self, x: Tensor) -> Tensor:
        y = functional.conv2d(x, self.first.weight * self.mask1, self.first.bias, padding=2)
        a, b = y.chunk(2, 1)
        y = a.tanh() * b.sigmoid()
        z = functional.conv2d(y, self.second.weight * self.mask2, self.second.bias, padding=1)
        return self.head(y + functional.glu(z, 1)).log_softmax(1)


@network(IMAGES, x=uniform("N", 1, "H", "W"))
def pixelcnn() -> nn.Module:
    return PixelCNN()


class Coupling(nn.Module):
    """RealNVP and Glow: affine couplings of squeezed images, a 1x1 convolution, and the logarithm of the determinant."""

    def __init__(self) -> None:
        super().__init__()
        self.logs, self.shift = nn.Parameter(torch.zeros(1, 12, 1, 1)), nn.Parameter(torch.zeros(1, 12, 1, 1))
        self.weight = nn.Parameter(torch.linalg.qr(torch.randn(12, 12))[0])
        self.net = nn.Sequential(nn.Conv2d(6, 8, 3, 1, 1), nn.ReLU(), nn.Conv2d(8, 12, 3, 1, 1))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        y = functional.pixel_unshuffle(x, 2)
        pixels = y.shape[2] * y.shape[3]
        y = (y + self.shift) * torch.exp(self.logs)
        y = functional.conv2d(y, self.weight[:, :, None, None])
        a, b = y.chunk(2, 1)
        scale, shift = self.net(a).chunk(2, 1)
        scale = torch.sigmoid(scale + 2)
        logs = scale.log().sum((1, 2, 3)) + pixels * self.logs.sum()
        return torch.cat([a, b * scale + shift], 1), logs


@network(sizes("N A B", (2, 5, 7), (1, 8, 4), (3, 3, 3), (1, 2, 9)), x=normal("N", 3, "2 * A", "2 * B"))
def glow() -> nn.Module:
    return Coupling()
