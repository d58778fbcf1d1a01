"""Speech: encoders, recognition of words and speakers, and synthesis."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from model_zoo.networks.layers import Block, SelfAttention
from model_zoo.registry import network, normal, sizes

FRAMES = sizes("N T", (2, 37), (1, 64), (3, 21), (1, 50))
WAVES = sizes("N T", (2, 330), (1, 512), (3, 217), (1, 401))


class ConformerBlock(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.ffs = nn.ModuleList(
            [
                nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 16), nn.SiLU(), nn.Linear(16, width))
                for _ in range(2)
            ]
        )
        self.norm, self.attention = nn.LayerNorm(width), SelfAttention(width, 2)
        self.before = nn.LayerNorm(width)
        self.expand, self.shrink = nn.Conv1d(width, 2 * width, 1), nn.Conv1d(width, width, 1)
        self.depthwise, self.batch = (
            nn.Conv1d(width, width, 7, padding=3, groups=width),
            nn.BatchNorm1d(width),
        )
        self.after = nn.LayerNorm(width)

    def forward(self, x: Tensor) -> Tensor:
        x = x + 0.5 * self.ffs[0](x)
        x = x + self.attention(self.norm(x))
        y = functional.glu(self.expand(self.before(x).transpose(1, 2)), 1)
        x = x + self.shrink(functional.silu(self.batch(self.depthwise(y)))).transpose(1, 2)
        return self.after(x + 0.5 * self.ffs[1](x))


class Conformer(nn.Module):
    """Subsampling by convolutions of stride 2, twice, and a block."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(1, 4, 3, 2), nn.ReLU(), nn.Conv2d(4, 4, 3, 2), nn.ReLU())
        self.project, self.block = nn.Linear(4 * 4, 8), ConformerBlock(8)
        self.head = nn.Linear(8, 6)

    def forward(self, x: Tensor) -> Tensor:
        y = self.stem(x.unsqueeze(1))
        y = self.project(y.transpose(1, 2).flatten(2))
        return self.head(self.block(y)).log_softmax(-1)


@network(FRAMES, x=normal("N", "T", 20))
def conformer() -> nn.Module:
    return Conformer()


class Wav2Vec(nn.Module):
    """Strided convolutions with a group norm, a convolution of positions, and a transformer."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.norm = nn.Conv1d(1, 8, 10, 5, bias=False), nn.GroupNorm(8, 8)
        self.more = nn.ModuleList([nn.Conv1d(8, 8, 3, 2, bias=False), nn.Conv1d(8, 8, 2, 2, bias=False)])
        self.layer_norm, self.project = nn.LayerNorm(8), nn.Linear(8, 8)
        self.positions = nn.utils.parametrizations.weight_norm(nn.Conv1d(8, 8, 6, padding=3, groups=2), dim=2)
        self.block = Block(8, 2)

    def forward(self, x: Tensor) -> Tensor:
        y = functional.gelu(self.norm(self.first(x[:, None])))
        for layer in self.more:
            y = functional.gelu(layer(y))
        y = self.project(self.layer_norm(y.transpose(1, 2)))
        y = y + functional.gelu(self.positions(y.transpose(1, 2))[:, :, :-1]).transpose(1, 2)
        return self.block(y)


@network(WAVES, x=normal("N", "T"))
def wav2vec() -> nn.Module:
    return Wav2Vec()


class Res2Conv(nn.Module):
    """Groups of channels, each convolved with the sum of itself and the group before."""

    def __init__(self, width: int, scale: int, dilation: int) -> None:
        super().__init__()
        self.scale, part = scale, width // scale
        self.convs = nn.ModuleList(
            [nn.Conv1d(part, part, 3, padding=dilation, dilation=dilation) for _ in range(scale - 1)]
        )

    def forward(self, x: Tensor) -> Tensor:
        parts = list(x.chunk(self.scale, 1))
        y = parts[1]
        results = [parts[0]]
        for i, conv in enumerate(self.convs):
            y = functional.relu(conv(y if i == 0 else y + parts[i + 1]))
            results.append(y)
        return torch.cat(results, 1)


class ECAPA(nn.Module):
    """Squeeze and excitation, and statistics weighted by attention: an embedding of a speaker."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Sequential(nn.Conv1d(10, 8, 5, padding=2), nn.ReLU(), nn.BatchNorm1d(8))
        self.blocks = nn.ModuleList([Res2Conv(8, 4, 2), Res2Conv(8, 4, 3)])
        self.gates = nn.ModuleList(
            [nn.Sequential(nn.Conv1d(8, 4, 1), nn.ReLU(), nn.Conv1d(4, 8, 1), nn.Sigmoid()) for _ in range(2)]
        )
        self.fuse = nn.Conv1d(16, 12, 1)
        self.attention = nn.Sequential(nn.Conv1d(36, 4, 1), nn.Tanh(), nn.Conv1d(4, 12, 1))
        self.norm, self.head = nn.BatchNorm1d(24), nn.Linear(24, 6)

    def forward(self, x: Tensor) -> Tensor:
        y, maps = self.first(x.transpose(1, 2)), []
        for block, gate in zip(self.blocks, self.gates, strict=True):
            z = block(y)
            y = y + z * gate(z.mean(2, keepdim=True))
            maps.append(y)
        y = functional.relu(self.fuse(torch.cat(maps, 1)))
        mean = y.mean(2, keepdim=True).expand_as(y)
        deviation = (y.var(2, keepdim=True, unbiased=False) + 1e-5).sqrt().expand_as(y)
        weights = self.attention(torch.cat([y, mean, deviation], 1)).softmax(2)
        mean = (weights * y).sum(2)
        deviation = ((weights * y**2).sum(2) - mean**2).clamp(min=1e-5).sqrt()
        return functional.normalize(self.head(self.norm(torch.cat([mean, deviation], 1))), dim=1)


@network(FRAMES, features=normal("N", "T", 10))
def ecapa() -> nn.Module:
    return ECAPA()


class QuartzNet(nn.Module):
    """Separable convolutions over time with a residual of 1x1."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv1d(10, 10, 11, 2, 5, groups=10, bias=False), nn.Conv1d(10, 8, 1, bias=False)
        )
        self.norm = nn.BatchNorm1d(8)
        self.separable = nn.Sequential(
            nn.Conv1d(8, 8, 13, padding=6, groups=8), nn.Conv1d(8, 12, 1), nn.BatchNorm1d(12)
        )
        self.residual = nn.Sequential(nn.Conv1d(8, 12, 1), nn.BatchNorm1d(12))
        self.head = nn.Conv1d(12, 5, 1)

    def forward(self, x: Tensor) -> Tensor:
        x = functional.relu(self.norm(self.stem(x)))
        y = functional.relu(self.separable(x) + self.residual(x))
        return self.head(y).transpose(1, 2).log_softmax(-1)


@network(FRAMES, x=normal("N", 10, "T"))
def quartznet() -> nn.Module:
    return QuartzNet()


class CRNN(nn.Module):
    """Convolutions, the height taken into the channels, and a bidirectional GRU."""

    def __init__(self) -> None:
        super().__init__()
        self.convs = nn.Sequential(
            nn.Conv2d(1, 4, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2, 2),
            nn.Conv2d(4, 8, 3, padding=1),
            nn.BatchNorm2d(8),
            nn.ReLU(),
            nn.MaxPool2d((2, 1), (2, 1)),
        )
        self.gru, self.head = nn.GRU(8 * 4, 6, bidirectional=True, batch_first=True), nn.Linear(12, 7)

    def forward(self, x: Tensor) -> Tensor:
        y = self.convs(x)
        y = y.permute(0, 3, 1, 2).flatten(2)
        return self.head(self.gru(y)[0]).log_softmax(2)


@network(sizes("N W", (2, 40), (1, 61), (3, 22), (1, 80)), x=normal("N", 1, 16, "W"))
def crnn() -> nn.Module:
    return CRNN()


class SincNet(nn.Module):
    """Filters computed from learned frequencies: weights of a convolution that the graph makes."""

    def __init__(self) -> None:
        super().__init__()
        self.low, self.band = nn.Parameter(torch.rand(6)), nn.Parameter(torch.rand(6))
        self.register_buffer("times", torch.arange(-10, 11).float() + 0.25)
        self.norm, self.head = nn.LayerNorm(6), nn.Linear(6, 4)

    def forward(self, x: Tensor) -> Tensor:
        low = self.low.abs() + 0.1
        high = low + self.band.abs()
        low_sinc = torch.sin(low[:, None] * self.times) / self.times
        high_sinc = torch.sin(high[:, None] * self.times) / self.times
        y = functional.conv1d(x[:, None], (high_sinc - low_sinc)[:, None], stride=3)
        y = functional.max_pool1d(y.abs(), 3)
        return self.head(functional.leaky_relu(self.norm(y.transpose(1, 2)))).mean(1)


@network(WAVES, x=normal("N", "T"))
def sincnet() -> nn.Module:
    return SincNet()


class FastSpeech(nn.Module):
    """Durations of phonemes stretch them to frames: a matrix of which frame belongs to which phoneme."""

    def __init__(self) -> None:
        super().__init__()
        self.block, self.after = Block(8, 2), Block(8, 2)
        self.duration = nn.Sequential(nn.Conv1d(8, 8, 3, padding=1), nn.ReLU(), nn.Conv1d(8, 1, 1))
        self.head = nn.Linear(8, 10)

    def forward(self, x: Tensor, frames: Tensor) -> Tensor:
        y = self.block(x)
        lengths = functional.softplus(self.duration(y.transpose(1, 2))[:, 0]) + 0.5
        ends = lengths.cumsum(1)
        starts = ends - lengths
        time = frames[None, :, None]
        member = ((time >= starts[:, None]) & (time < ends[:, None])).to(x.dtype)
        return self.head(self.after(member @ y))


@network(
    sizes("N L T", (2, 7, 20), (1, 12, 33), (3, 5, 9), (1, 3, 40)), x=normal("N", "L", 8), frames=normal("T")
)
def fastspeech() -> nn.Module:
    return FastSpeech()
