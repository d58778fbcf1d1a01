"""Series of numbers and of items."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from model_zoo.networks.layers import Block, SelfAttention
from model_zoo.registry import below, network, normal, prefixes, sizes

ROWS = sizes("N", (12,), (1,), (33,), (7,))
SERIES = sizes("N L", (2, 13), (1, 24), (3, 9), (1, 16))


class NBeats(nn.Module):
    """Blocks that subtract what they explain of the past, and add to the forecast."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.ModuleList([nn.Sequential(nn.Linear(12, 8), nn.ReLU()) for _ in range(2)])
        self.theta = nn.ModuleList([nn.Linear(8, 6), nn.Linear(8, 6)])
        back, forward = torch.arange(12.0) / 12, torch.arange(4.0) / 4
        self.register_buffer("past", torch.stack([back**i for i in range(3)]))
        self.register_buffer("future", torch.stack([forward**i for i in range(3)]))

    def forward(self, x: Tensor) -> Tensor:
        level = x[:, -1:].abs() + 0.5
        x, total = x / level, 0
        for block, theta in zip(self.blocks, self.theta, strict=True):
            a, b = theta(block(x)).split(3, 1)
            x, total = x - a @ self.past, total + b @ self.future
        return total * level


@network(ROWS, x=normal("N", 12))
def nbeats() -> nn.Module:
    return NBeats()


class GatedResidual(nn.Module):
    """The temporal fusion transformer's block: gates, selection of variables and an LSTM."""

    def __init__(self) -> None:
        super().__init__()
        self.select = nn.Sequential(nn.Linear(4, 8), nn.ELU(), nn.Linear(8, 4))
        self.project, self.lstm = nn.Linear(4, 8), nn.LSTM(8, 8, batch_first=True)
        self.gate, self.norm, self.attention = (
            nn.Linear(8, 16),
            nn.LayerNorm(8),
            SelfAttention(8, 2, causal=True),
        )
        self.quantiles = nn.Linear(8, 3)

    def forward(self, x: Tensor) -> Tensor:
        x = self.project(self.select(x).softmax(-1) * x)
        y, _ = self.lstm(x)
        y = self.norm(x + functional.glu(self.gate(y)))
        return self.quantiles(y + self.attention(y))[:, -4:]


@network(SERIES, x=normal("N", "L", 4))
def temporal_fusion() -> nn.Module:
    return GatedResidual()


class Autoformer(nn.Module):
    """Decomposition by a moving average with repeated ends, and patches as in PatchTST."""

    def __init__(self) -> None:
        super().__init__()
        self.embed, self.block, self.trend = nn.Linear(4, 8), Block(8, 2), nn.Linear(1, 1)
        self.head = nn.Linear(8, 2)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        mean = x.mean(1, keepdim=True)
        deviation = torch.sqrt(x.var(1, keepdim=True, unbiased=False) + 1e-5)
        x = (x - mean) / deviation
        padded = torch.cat([x[:, :1].expand(-1, 2, -1), x, x[:, -1:].expand(-1, 2, -1)], 1)
        trend = functional.avg_pool1d(padded.transpose(1, 2), 5, 1).transpose(1, 2)
        patches = (x - trend).transpose(1, 2).unfold(2, 4, 2)
        n, variables, count, length = patches.shape
        y = self.block(self.embed(patches.reshape(n * variables, count, length)))
        return self.head(y).reshape(n, variables, count, 2), self.trend(trend[..., :1]) * deviation + mean


@network(SERIES, x=normal("N", "L", 3))
def autoformer() -> nn.Module:
    return Autoformer()


class TCN(nn.Module):
    """Causal dilated convolutions whose surplus is cut off."""

    def __init__(self) -> None:
        super().__init__()
        self.convs = nn.ModuleList(
            [nn.Conv1d(4 if i == 0 else 8, 8, 3, padding=2 * 2**i, dilation=2**i) for i in range(3)]
        )
        self.skip, self.head = nn.Conv1d(4, 8, 1), nn.Linear(8, 2)

    def forward(self, x: Tensor) -> Tensor:
        y = x
        for i, conv in enumerate(self.convs):
            z = functional.relu(conv(y)[:, :, : -2 * 2**i])
            y = z + (self.skip(y) if i == 0 else y)
        return self.head(y[:, :, -1])


@network(SERIES, x=normal("N", 4, "L"))
def tcn() -> nn.Module:
    return TCN()


class SASRec(nn.Module):
    """The last item of a mask, scored against all items."""

    def __init__(self) -> None:
        super().__init__()
        self.items, self.places = nn.Embedding(15, 8), nn.Embedding(24, 8)
        self.block = Block(8, 2, causal=True)

    def forward(self, items: Tensor, mask: Tensor) -> Tensor:
        places = torch.arange(items.shape[1], device=items.device)
        x = self.items(items) * 8**0.5 + self.places(places)
        x = self.block(x * mask[..., None].to(x.dtype))
        last = mask.long().sum(1) - 1
        state = x[torch.arange(x.shape[0], device=x.device), last]
        return (state @ self.items.weight.T).topk(5).values


@network(SERIES, items=below(15, "N", "L"), mask=prefixes("N", "L"))
def sasrec() -> nn.Module:
    return SASRec()


class DIN(nn.Module):
    """Interest in a candidate: a history weighted by its relation to the candidate, with Dice activations."""

    def __init__(self) -> None:
        super().__init__()
        self.items, self.alpha = nn.Embedding(15, 6), nn.Parameter(torch.zeros(8))
        self.hidden, self.score, self.norm = (
            nn.Linear(24, 8),
            nn.Linear(8, 1),
            nn.BatchNorm1d(8, affine=False),
        )
        self.head = nn.Sequential(nn.Linear(12, 8), nn.PReLU(8), nn.Linear(8, 1))

    def forward(self, history: Tensor, mask: Tensor, candidate: Tensor) -> Tensor:
        h, c = self.items(history), self.items(candidate)[:, None].expand(-1, history.shape[1], -1)
        y = self.hidden(torch.cat([h, c, h - c, h * c], -1))
        p = torch.sigmoid(self.norm(y.transpose(1, 2))).transpose(1, 2)
        y = self.score(p * y + self.alpha * (1 - p) * y)[..., 0]
        weights = torch.where(mask, y, torch.full_like(y, -(2.0**20))).softmax(1)
        interest = torch.bmm(weights[:, None], h)[:, 0]
        return self.head(torch.cat([interest, c[:, 0]], 1)).squeeze(-1)


@network(SERIES, history=below(15, "N", "L"), mask=prefixes("N", "L"), candidate=below(15, "N"))
def deep_interest() -> nn.Module:
    return DIN()
