"""Sound: vocoders, separation, codecs and spectrograms."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from model_zoo.registry import network, normal, sizes

FRAMES = sizes("N T", (2, 37), (1, 64), (3, 21), (1, 50))
WAVES = sizes("N T", (2, 330), (1, 512), (3, 217), (1, 401))


class ResBlock1d(nn.Module):
    def __init__(self, width: int, size: int) -> None:
        super().__init__()
        self.dilated = nn.ModuleList(
            [nn.Conv1d(width, width, size, dilation=d, padding=(size - 1) * d // 2) for d in (1, 3)]
        )
        self.plain = nn.ModuleList([nn.Conv1d(width, width, size, padding=size // 2) for _ in range(2)])

    def forward(self, x: Tensor) -> Tensor:
        for a, b in zip(self.dilated, self.plain, strict=True):
            x = x + b(functional.leaky_relu(a(functional.leaky_relu(x, 0.1)), 0.1))
        return x


class HiFiGAN(nn.Module):
    """Transposed convolutions and blocks of several kernels."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Conv1d(8, 16, 7, padding=3), nn.Conv1d(4, 1, 7, padding=3)
        self.ups = nn.ModuleList([nn.ConvTranspose1d(16, 8, 8, 4, 2), nn.ConvTranspose1d(8, 4, 4, 2, 1)])
        self.blocks = nn.ModuleList(
            [nn.ModuleList([ResBlock1d(8, 3), ResBlock1d(8, 5)]), nn.ModuleList([ResBlock1d(4, 3)])]
        )

    def forward(self, x: Tensor) -> Tensor:
        x = self.first(x)
        for up, blocks in zip(self.ups, self.blocks, strict=True):
            x = up(functional.leaky_relu(x, 0.1))
            x = sum(block(x) for block in blocks) / len(blocks)
        return torch.tanh(self.last(functional.leaky_relu(x)))


@network(FRAMES, mel=normal("N", 8, "T"))
def hifigan() -> nn.Module:
    return HiFiGAN()


class Demucs(nn.Module):
    """An encoder and a decoder with gated convolutions, an LSTM between them; skips are cropped."""

    def __init__(self) -> None:
        super().__init__()
        widths = [(1, 4), (4, 8)]
        self.down = nn.ModuleList([nn.Conv1d(a, b, 8, 4) for a, b in widths])
        self.gates = nn.ModuleList([nn.Conv1d(b, 2 * b, 1) for _, b in widths])
        self.lstm, self.linear = nn.LSTM(8, 8, bidirectional=True), nn.Linear(16, 8)
        self.rewrites = nn.ModuleList([nn.Conv1d(b, 2 * b, 3, padding=1) for _, b in reversed(widths)])
        self.up = nn.ModuleList([nn.ConvTranspose1d(b, a, 8, 4) for a, b in reversed(widths)])

    def forward(self, x: Tensor) -> Tensor:
        x, skips = x / (x.std(-1, keepdim=True) + 1e-5), []
        for conv, gate in zip(self.down, self.gates, strict=True):
            x = functional.glu(gate(functional.relu(conv(x))), 1)
            skips.append(x)
        x = self.linear(self.lstm(x.permute(2, 0, 1))[0]).permute(1, 2, 0)
        for gate, up in zip(self.rewrites, self.up, strict=True):
            skip = skips.pop()
            x = functional.glu(gate(x + skip[..., : x.shape[-1]]), 1)
            x = functional.relu(up(x)) if skips else up(x)
        return x


# 4 * (4 * k + 4) + 4 samples have no remainder, for which the skips would not fit.
@network(sizes("N K", (2, 20), (1, 31), (3, 9), (1, 17)), x=normal("N", 1, "16 * K + 20"))
def demucs() -> nn.Module:
    return Demucs()


class WaveNet(nn.Module):
    """Causal dilated convolutions with gates and skips, conditioned on a vector of the speaker."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv1d(1, 6, 1)
        self.convs = nn.ModuleList([nn.Conv1d(6, 12, 2, dilation=2**i) for i in range(3)])
        self.conditions = nn.ModuleList([nn.Linear(4, 12) for _ in range(3)])
        self.outs = nn.ModuleList([nn.Conv1d(6, 12, 1) for _ in range(3)])
        self.head = nn.Sequential(nn.ReLU(), nn.Conv1d(6, 6, 1), nn.ReLU(), nn.Conv1d(6, 8, 1))

    def forward(self, x: Tensor, speaker: Tensor) -> Tensor:
        x, skips = self.stem(x), 0
        for i, (conv, condition, out) in enumerate(zip(self.convs, self.conditions, self.outs, strict=True)):
            y = conv(functional.pad(x, (2**i, 0))) + condition(speaker)[:, :, None]
            a, b = y.chunk(2, 1)
            residual, skip = out(a.tanh() * b.sigmoid()).split(6, 1)
            x, skips = x + residual, skips + skip
        return self.head(skips)


@network(FRAMES, x=normal("N", 1, "T"), speaker=normal("N", 4))
def wavenet() -> nn.Module:
    return WaveNet()


class ConvTasNet(nn.Module):
    """Masks of two speakers over a learned filter bank, with global layer norms."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder, self.decoder = nn.Conv1d(1, 8, 16, 8, bias=False), nn.ConvTranspose1d(8, 1, 16, 8)
        self.norm, self.bottleneck = nn.GroupNorm(1, 8), nn.Conv1d(8, 6, 1)
        self.blocks = nn.ModuleList(
            [
                nn.Sequential(
                    nn.Conv1d(6, 12, 1),
                    nn.PReLU(),
                    nn.GroupNorm(1, 12),
                    nn.Conv1d(12, 12, 3, padding=d, dilation=d, groups=12),
                    nn.PReLU(),
                    nn.GroupNorm(1, 12),
                    nn.Conv1d(12, 6, 1),
                )
                for d in (1, 2)
            ]
        )
        self.mask = nn.Conv1d(6, 16, 1)

    def forward(self, x: Tensor) -> Tensor:
        w = functional.relu(self.encoder(x[:, None]))
        y = self.bottleneck(self.norm(w))
        for block in self.blocks:
            y = y + block(y)
        masks = self.mask(y).view(x.shape[0], 2, 8, -1).sigmoid()
        return self.decoder((masks * w[:, None]).flatten(0, 1)).view(x.shape[0], 2, -1)


@network(WAVES, x=normal("N", "T"))
def conv_tasnet() -> nn.Module:
    return ConvTasNet()


class Encodec(nn.Module):
    """Strided convolutions with paddings computed from the length, residual quantization, and back."""

    def __init__(self) -> None:
        super().__init__()
        self.down = nn.ModuleList([nn.Conv1d(1, 4, 4, 2), nn.Conv1d(4, 8, 8, 4)])
        self.codes = nn.ParameterList([nn.Parameter(torch.randn(8, 8)) for _ in range(2)])
        self.up = nn.ModuleList([nn.ConvTranspose1d(8, 4, 8, 4), nn.ConvTranspose1d(4, 1, 4, 2)])

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        length = x.shape[-1]
        for layer, stride in zip(self.down, (2, 4), strict=True):
            missing = -x.shape[-1] % stride
            x = functional.elu(layer(functional.pad(x, (stride, missing))))
        residual, total, indices = x.transpose(1, 2), 0, []
        for book in self.codes:
            distances = residual.pow(2).sum(-1, keepdim=True) - 2 * residual @ book.T + book.pow(2).sum(-1)
            nearest = distances.argmin(-1)
            indices.append(nearest)
            quantized = functional.embedding(nearest, book)
            residual, total = residual - quantized, total + quantized
        y = total.transpose(1, 2)
        for layer, stride in zip(self.up, (4, 2), strict=True):
            y = layer(functional.elu(y))[..., stride:]
        return y[..., :length], torch.stack(indices)


@network(WAVES, x=normal("N", 1, "T"))
def encodec() -> nn.Module:
    return Encodec()


class Spectrogram(nn.Module):
    """A short-time Fourier transform by convolution with cosines and sines, mel filters and a logarithm."""

    def __init__(self) -> None:
        super().__init__()
        n = torch.arange(32.0)
        k = torch.arange(17.0)[:, None]
        window = 0.5 - 0.5 * torch.cos(2 * math.pi * n / 32)
        basis = torch.cat([torch.cos(2 * math.pi * k * n / 32), -torch.sin(2 * math.pi * k * n / 32)])
        self.register_buffer("basis", (basis * window)[:, None])
        self.register_buffer("mel", torch.rand(8, 17))
        self.conv = nn.Conv1d(8, 4, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        y = functional.pad(x[:, None], (16, 16), mode="reflect")
        real, imaginary = functional.conv1d(y, self.basis, stride=8).chunk(2, 1)
        y = torch.matmul(self.mel, real**2 + imaginary**2)
        y = torch.log10(y.clamp(min=1e-5))
        y = torch.maximum(y, y.amax((1, 2), keepdim=True) - 4)
        return self.conv(y)


@network(WAVES, x=normal("N", "T"))
def log_mel() -> nn.Module:
    return Spectrogram()
