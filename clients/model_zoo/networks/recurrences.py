"""Recurrences and what replaces them: state-space models, linear recurrences and convolutions as long as the input."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from model_zoo.networks.layers import RMSNorm
from model_zoo.registry import network, normal, sizes

SEQUENCES = sizes("N L", (2, 7), (1, 12), (3, 5), (1, 1))
STEPS = sizes("N", (2,), (1,), (3,), (5,))  # of models whose loop over the length is unrolled


class Mamba(nn.Module):
    """Selective state space: a causal convolution, and a scan that is a product with a matrix of decays."""

    def __init__(self) -> None:
        super().__init__()
        self.expand, self.conv = nn.Linear(6, 16), nn.Conv1d(8, 8, 4, groups=8, padding=3)
        self.project, self.step = nn.Linear(8, 1 + 2 * 3), nn.Linear(1, 8)
        self.decay, self.skip = nn.Parameter(torch.rand(8, 3)), nn.Parameter(torch.ones(8))
        self.out = nn.Linear(8, 6)

    def forward(self, x: Tensor) -> Tensor:
        length = x.shape[1]
        u, gate = self.expand(x).chunk(2, -1)
        u = functional.silu(self.conv(u.transpose(1, 2))[..., :length]).transpose(1, 2)
        step, b, c = self.project(u).split([1, 3, 3], -1)
        step = functional.softplus(self.step(step))
        logs = torch.cumsum(-step[..., None] * self.decay.exp(), 1)
        seen = torch.ones(length, length, dtype=torch.bool, device=x.device).tril()
        kernel = (logs[:, :, None] - logs[:, None]).masked_fill(~seen[None, :, :, None, None], -1e4).exp()
        state = torch.einsum("ntsdk,nsd,nsk->ntdk", kernel, step * u, b)
        y = torch.einsum("ntdk,ntk->ntd", state, c) + self.skip * u
        return x + self.out(y * functional.silu(gate))


@network(SEQUENCES, x=normal("N", "L", 6))
def mamba() -> nn.Module:
    return Mamba()


class MambaScan(nn.Module):
    """The same recurrence, step by step over eight steps."""

    def __init__(self) -> None:
        super().__init__()
        self.decay, self.b, self.c = nn.Parameter(torch.rand(6, 3)), nn.Linear(6, 3), nn.Linear(6, 3)
        self.step = nn.Linear(6, 6)

    def forward(self, x: Tensor) -> Tensor:
        step = functional.softplus(self.step(x))
        b, c = self.b(x), self.c(x)
        state = torch.zeros(x.shape[0], 6, 3, dtype=x.dtype, device=x.device)
        results = []
        for t in range(8):
            keep = torch.exp(-step[:, t, :, None] * self.decay.exp())
            state = keep * state + (step[:, t] * x[:, t])[..., None] * b[:, t, None]
            results.append((state * c[:, t, None]).sum(-1))
        return torch.stack(results, 1)


@network(STEPS, x=normal("N", 8, 6))
def mamba_unrolled() -> nn.Module:
    return MambaScan()


class RWKV(nn.Module):
    """Shifts by one step, and averages whose weights decay, by a stable recurrence that is unrolled."""

    def __init__(self) -> None:
        super().__init__()
        self.mix = nn.Parameter(torch.rand(3, 6))
        self.k, self.v, self.r, self.out = (nn.Linear(6, 6, bias=False) for _ in range(4))
        self.decay, self.first = nn.Parameter(torch.rand(6)), nn.Parameter(torch.rand(6))

    def forward(self, x: Tensor) -> Tensor:
        before = functional.pad(x, (0, 0, 1, -1))
        k, v, r = (
            layer(x * mix + before * (1 - mix))
            for layer, mix in zip((self.k, self.v, self.r), self.mix.unbind(0), strict=True)
        )
        total, weight = torch.zeros_like(x[:, 0]), torch.zeros_like(x[:, 0])
        most = torch.full_like(x[:, 0], -1e4)
        results = []
        for t in range(6):
            now, value = k[:, t], v[:, t]
            top = torch.maximum(most, now + self.first)
            a, b = torch.exp(most - top), torch.exp(now + self.first - top)
            results.append((a * total + b * value) / (a * weight + b))
            top = torch.maximum(most - self.decay.exp(), now)
            a, b = torch.exp(most - self.decay.exp() - top), torch.exp(now - top)
            total, weight, most = a * total + b * value, a * weight + b, top
        return self.out(r.sigmoid() * torch.stack(results, 1))


@network(STEPS, x=normal("N", 6, 6))
def rwkv() -> nn.Module:
    return RWKV()


class RetNet(nn.Module):
    """Retention in its parallel form: products of queries and keys, times powers of a decay."""

    def __init__(self) -> None:
        super().__init__()
        self.packed, self.gate, self.out = nn.Linear(8, 24), nn.Linear(8, 8), nn.Linear(8, 8)
        self.norm = nn.GroupNorm(2, 8)

    def forward(self, x: Tensor) -> Tensor:
        n, length, _ = x.shape
        q, k, v = self.packed(x).view(n, length, 3, 2, 4).permute(2, 0, 3, 1, 4).unbind(0)
        places = torch.arange(length, device=x.device)
        distance = (places[:, None] - places[None]).to(x.dtype)
        rates = torch.tensor([0.9, 0.7], dtype=x.dtype)[:, None, None]
        decay = torch.where(distance >= 0, rates ** distance.clamp(min=0), torch.zeros_like(distance))
        y = ((q @ k.transpose(2, 3)) * decay) @ v
        y = self.norm(y.transpose(1, 2).reshape(n * length, 8)).view(n, length, 8)
        return self.out(functional.silu(self.gate(x)) * y)


@network(SEQUENCES, x=normal("N", "L", 8))
def retnet() -> nn.Module:
    return RetNet()


class Hyena(nn.Module):
    """Implicit filters of the length of the input, applied as a Toeplitz matrix."""

    def __init__(self) -> None:
        super().__init__()
        self.project, self.short = nn.Linear(6, 18), nn.Conv1d(18, 18, 3, padding=2, groups=18)
        self.filter = nn.Sequential(nn.Linear(3, 8), nn.SiLU(), nn.Linear(8, 6))
        self.bias = nn.Parameter(torch.randn(6))

    def forward(self, x: Tensor) -> Tensor:
        length = x.shape[1]
        y = self.short(self.project(x).transpose(1, 2))[..., :length]
        a, b, v = y.chunk(3, 1)
        time = torch.arange(length, device=x.device, dtype=x.dtype) / 10
        taps = self.filter(torch.stack([time, time.sin(), time.cos()], -1)) * torch.exp(-time)[:, None]
        places = torch.arange(length, device=x.device)
        distance = places[:, None] - places[None]
        toeplitz = taps[distance.clamp(min=0)] * (distance >= 0).to(x.dtype)[..., None]
        v = v * b
        v = torch.einsum("tsd,nds->ndt", toeplitz, v) + self.bias[:, None] * v
        return (a * v).transpose(1, 2)


@network(SEQUENCES, x=normal("N", "L", 6))
def hyena() -> nn.Module:
    return Hyena()


class GatedRNN(nn.Module):
    """Bidirectional LSTM with states as inputs and outputs, over padded time."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(5, 4, 2, batch_first=True, bidirectional=True)
        self.head = nn.Linear(8, 3)

    def forward(self, x: Tensor, h: Tensor, c: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        y, (h, c) = self.lstm(x, (h, c))
        return self.head(y), h, c


@network(SEQUENCES, x=normal("N", "L", 5), h=normal(4, "N", 4), c=normal(4, "N", 4))
def lstm_with_state() -> nn.Module:
    return GatedRNN()


class VAD(nn.Module):
    """Voice activity: features of a chunk, and a GRU whose state goes round."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv1d(1, 6, 8, 4)
        self.gru, self.head = nn.GRU(6, 6), nn.Conv1d(6, 1, 1)

    def forward(self, x: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        y = functional.relu(self.conv(x[:, None]))
        y, state = self.gru(y.permute(2, 0, 1), state)
        return self.head(y.permute(1, 2, 0)).sigmoid().mean(2), state


@network(sizes("N T", (2, 64), (1, 96), (3, 33), (1, 8)), x=normal("N", "T"), state=normal(1, "N", 6))
def voice_activity() -> nn.Module:
    return VAD()


class Quasi(nn.Module):
    """A quasi-recurrent network: gates by convolution, and the recurrence as sums of logarithms."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm = nn.Conv1d(6, 18, 2, padding=1), RMSNorm(6)

    def forward(self, x: Tensor) -> Tensor:
        z, forget, out = self.conv(x.transpose(1, 2))[..., :-1].chunk(3, 1)
        forget = forget.sigmoid()
        logs = torch.log(forget + 1e-3).cumsum(-1)
        y = ((1 - forget) * z.tanh() / torch.exp(logs)).cumsum(-1) * torch.exp(logs)
        return self.norm((out.sigmoid() * y).transpose(1, 2))


@network(SEQUENCES, x=normal("N", "L", 6))
def quasi_recurrent() -> nn.Module:
    return Quasi()
