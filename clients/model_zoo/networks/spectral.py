"""Fourier transforms, wavelets and other linear transforms of signals."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from model_zoo.registry import network, normal, sizes

SEQUENCES = sizes("N L", (2, 9), (1, 16), (3, 12), (1, 21))
IMAGES = sizes("N H W", (2, 9, 12), (1, 16, 16), (3, 12, 7), (1, 10, 21))


class FNet(nn.Module):
    """The real part of a transform over words and channels mixes them."""

    def __init__(self) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(6), nn.LayerNorm(6)
        self.mlp = nn.Sequential(nn.Linear(6, 12), nn.GELU(), nn.Linear(12, 6))

    def forward(self, x: Tensor) -> Tensor:
        x = self.norm1(x + torch.fft.fft(torch.fft.fft(x, dim=-1), dim=-2).real)
        return self.norm2(x + self.mlp(x))


@network(sizes("N", (2,), (1,), (3,), (5,)), x=normal("N", 8, 6))
def fnet() -> nn.Module:
    return FNet()


class FNO(nn.Module):
    """A Fourier neural operator: the lowest modes are multiplied by weights."""

    def __init__(self) -> None:
        super().__init__()
        self.real, self.imaginary = (
            nn.Parameter(0.3 * torch.randn(4, 4, 3)),
            nn.Parameter(0.3 * torch.randn(4, 4, 3)),
        )
        self.lift, self.skip, self.head = nn.Conv1d(1, 4, 1), nn.Conv1d(4, 4, 1), nn.Conv1d(4, 1, 1)

    def forward(self, x: Tensor) -> Tensor:
        y = self.lift(x)
        modes = torch.view_as_real(torch.fft.rfft(y))[:, :, :3]
        a, b = modes.unbind(-1)
        c = torch.einsum("nik,iok->nok", a, self.real) - torch.einsum("nik,iok->nok", b, self.imaginary)
        d = torch.einsum("nik,iok->nok", a, self.imaginary) + torch.einsum("nik,iok->nok", b, self.real)
        length = y.shape[-1]
        time = torch.arange(length, dtype=y.dtype, device=y.device) * (2 * math.pi / length)
        angles = time * torch.arange(3, dtype=y.dtype, device=y.device)[:, None]
        scale = torch.tensor([1.0, 2, 2], dtype=y.dtype)[:, None] / length
        z = torch.einsum("nok,kt->not", c, angles.cos() * scale) - torch.einsum(
            "nok,kt->not", d, angles.sin() * scale
        )
        return self.head(functional.gelu(z + self.skip(y)))


@network(SEQUENCES, x=normal("N", 1, "L"))
def fno() -> nn.Module:
    return FNO()


class DFTMatrix(nn.Module):
    """A global filter by matrices of cosines and sines that are made from the length."""

    def __init__(self) -> None:
        super().__init__()
        self.filter, self.bias = nn.Linear(2, 4), nn.Parameter(torch.randn(4))

    def forward(self, x: Tensor) -> Tensor:
        length = x.shape[1]
        n = torch.arange(length, dtype=x.dtype, device=x.device)
        angles = 2 * math.pi / length * torch.outer(n, n)
        cos, sin = angles.cos(), angles.sin()
        real, imaginary = cos @ x, -(sin @ x)
        frequency = n / length
        weights = self.filter(torch.stack([frequency.cos(), frequency.sin()], -1))
        real, imaginary = real * weights, imaginary * weights
        return (cos @ real - sin @ imaginary) / length + self.bias


@network(SEQUENCES, x=normal("N", "L", 4))
def global_filter() -> nn.Module:
    return DFTMatrix()


class ShortTimeFourier(nn.Module):
    """torch.stft, the magnitude and phase, and a mask on both."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("window", torch.hann_window(16))
        self.mask = nn.Sequential(nn.Conv1d(9, 8, 3, padding=1), nn.ReLU(), nn.Conv1d(8, 9, 1), nn.Sigmoid())

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        spectrum = torch.stft(x, 16, 8, window=self.window.to(x.dtype), center=False, return_complex=True)
        parts = torch.view_as_real(spectrum)
        magnitude = (parts.pow(2).sum(-1) + 1e-6).sqrt()
        mask = self.mask(magnitude.log1p())
        return magnitude * mask, parts * mask[..., None]


@network(sizes("N T", (2, 64), (1, 96), (3, 40), (1, 128)), x=normal("N", "T"))
def stft_mask() -> nn.Module:
    return ShortTimeFourier()


class Wavelet(nn.Module):
    """Haar wavelets by slices of even and odd pixels, and the inverse by interleaving."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(8, 8, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        even, odd = x[:, :, ::2], x[:, :, 1::2]
        low, high = (even + odd) / 2, (even - odd) / 2
        parts = []
        for y in (low, high):
            a, b = y[..., ::2], y[..., 1::2]
            parts += [(a + b) / 2, (a - b) / 2]
        ll, lh, hl, hh = self.conv(torch.cat(parts, 1)).chunk(4, 1)
        low = torch.stack([ll + lh, ll - lh], -1).flatten(-2)
        high = torch.stack([hl + hh, hl - hh], -1).flatten(-2)
        return torch.stack([low + high, low - high], -2).flatten(2, 3)


@network(
    sizes("N A B", (2, 5, 7), (1, 8, 4), (3, 3, 3), (1, 2, 9)),
    x=normal("N", 2, "2 * A", "2 * B"),
)
def wavelet() -> nn.Module:
    return Wavelet()


class Cosine(nn.Module):
    """A codec of images: blocks of 4 x 4, a cosine transform, quantization by steps, and back."""

    def __init__(self) -> None:
        super().__init__()
        k, n = torch.arange(4.0)[:, None], torch.arange(4.0)
        matrix = torch.cos(math.pi / 4 * (n + 0.5) * k) * (0.5**0.5)
        matrix[0] *= 0.5**0.5
        self.register_buffer("matrix", matrix)
        self.steps = nn.Parameter(torch.rand(4, 4) + 0.2)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        n, h, w = x.shape
        pad_h, pad_w = -h % 4, -w % 4
        y = functional.pad(x[:, None], (0, pad_w, 0, pad_h), mode="replicate")[:, 0]
        blocks = y.view(n, y.shape[1] // 4, 4, y.shape[2] // 4, 4).transpose(2, 3)
        coefficients = self.matrix @ blocks @ self.matrix.T / self.steps
        soft = coefficients - torch.sin(2 * math.pi * coefficients) / (2 * math.pi)
        y = (self.matrix.T @ (soft * self.steps) @ self.matrix).transpose(2, 3).reshape(y.shape)
        return y[:, :h, :w], coefficients.abs().mean((1, 2))


@network(IMAGES, x=normal("N", "H", "W"))
def cosine_codec() -> nn.Module:
    return Cosine()


class Overlap(nn.Module):
    """Frames with overlap by unfold, a layer on each, and their sum by fold."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(8, 8)

    def forward(self, x: Tensor) -> Tensor:
        frames = functional.unfold(x[:, None, None], (1, 8), stride=(1, 4))
        y = self.layer(frames.transpose(1, 2)).transpose(1, 2)
        left, right = y[:, :4], y[:, 4:]
        left = functional.pad(left, (0, 1)).transpose(1, 2).flatten(1)
        right = functional.pad(right, (1, 0)).transpose(1, 2).flatten(1)
        return left + right


@network(sizes("N K", (2, 5), (1, 9), (3, 2), (1, 14)), x=normal("N", "4 * K"))
def overlap_add() -> nn.Module:
    return Overlap()
