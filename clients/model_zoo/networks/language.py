"""Encoders of text."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from model_zoo.networks.layers import Block, CrossAttention, RMSNorm, SelfAttention
from model_zoo.registry import below, network, normal, prefixes, sizes

TOKENS = sizes("N L", (2, 7), (1, 12), (3, 5), (1, 1))


class BERT(nn.Module):
    """Post-norm encoder with padding that a mask of bool hides, as additive scores."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.places, self.kinds = nn.Embedding(20, 8), nn.Embedding(16, 8), nn.Embedding(2, 8)
        self.norm, self.attention = nn.LayerNorm(8), SelfAttention(8, 2)
        self.norm1, self.norm2 = nn.LayerNorm(8), nn.LayerNorm(8)
        self.mlp = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 8))
        self.pooler = nn.Linear(8, 8)

    def forward(self, ids: Tensor, kinds: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        places = self.places(torch.arange(ids.shape[1], device=ids.device))
        x = self.norm(self.words(ids) + places + self.kinds(kinds))
        scores = (1.0 - mask[:, None, None].to(x.dtype)) * -1e4
        x = self.norm1(x + self.attention(x, scores))
        x = self.norm2(x + self.mlp(x))
        return x, torch.tanh(self.pooler(x[:, 0]))


@network(TOKENS, ids=below(20, "N", "L"), kinds=below(2, "N", "L"), mask=prefixes("N", "L"))
def bert() -> nn.Module:
    return BERT()


class SentenceEncoder(nn.Module):
    """The mean over the tokens of a mask, normalized."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.block = nn.Embedding(20, 8), Block(8, 2)

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        x = self.block(self.words(ids), mask[:, None, None])
        weights = mask[..., None].to(x.dtype)
        mean = (x * weights).sum(1) / weights.sum(1).clamp(min=1e-9)
        return functional.normalize(mean, p=2.0, dim=1)


@network(TOKENS, ids=below(20, "N", "L"), mask=prefixes("N", "L"))
def sentence_encoder() -> nn.Module:
    return SentenceEncoder()


class T5(nn.Module):
    """Biases of scores by logarithmic buckets of distance."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.bias = nn.Embedding(20, 8), nn.Embedding(8, 2)
        self.norm1, self.norm2 = RMSNorm(8), RMSNorm(8)
        self.packed, self.out = nn.Linear(8, 24, bias=False), nn.Linear(8, 8, bias=False)
        self.up, self.down = nn.Linear(8, 16, bias=False), nn.Linear(16, 8, bias=False)

    def buckets(self, length: int, device: torch.device) -> Tensor:
        places = torch.arange(length, device=device)
        distance = places[None] - places[:, None]
        side = (distance > 0).long() * 4
        distance = distance.abs()
        far = 2 + (torch.log(distance.float().clamp(min=1) / 2) / math.log(4) * 2).long()
        return side + torch.where(distance < 2, distance, far.clamp(max=3))

    def forward(self, ids: Tensor) -> Tensor:
        x = self.words(ids)
        n, length, _ = x.shape
        q, k, v = self.packed(self.norm1(x)).view(n, length, 3, 2, 4).permute(2, 0, 3, 1, 4).unbind(0)
        bias = self.bias(self.buckets(length, ids.device)).permute(2, 0, 1)[None]
        y = (q @ k.transpose(2, 3) + bias).softmax(-1) @ v
        x = x + self.out(y.transpose(1, 2).flatten(2))
        return x + self.down(functional.relu(self.up(self.norm2(x))))


@network(TOKENS, ids=below(20, "N", "L"))
def t5_encoder() -> nn.Module:
    return T5()


class DeBERTa(nn.Module):
    """Scores of content with relative positions, gathered by distance.

    The embeddings of positions depend on the input: exporters would fold their projections, and the file's gradients of the
    shared weights would lack that part.
    """

    def __init__(self) -> None:
        super().__init__()
        self.words, self.relative = nn.Embedding(20, 8), nn.Embedding(8, 8)
        self.q, self.k, self.v = (nn.Linear(8, 8) for _ in range(3))
        self.norm = nn.LayerNorm(8)

    def forward(self, ids: Tensor) -> Tensor:
        x = self.words(ids)
        length = x.shape[1]
        q, k, v = self.q(x), self.k(x), self.v(x)
        places = torch.arange(length, device=ids.device)
        distance = (places[:, None] - places[None] + 4).clamp(0, 7)
        index = distance.expand(x.shape[0], length, length)
        far = self.relative.weight + x[:1, 0]
        to_place = (q @ self.k(far).T).gather(2, index)
        from_place = (k @ self.q(far).T).gather(2, index).transpose(1, 2)
        scores = (q @ k.transpose(1, 2) + to_place + from_place) / math.sqrt(24)
        return self.norm(x + scores.softmax(-1) @ v)


@network(TOKENS, ids=below(20, "N", "L"))
def deberta() -> nn.Module:
    return DeBERTa()


class SlidingWindow(nn.Module):
    """Longformer: blocks of queries attend to their own block and those beside it."""

    def __init__(self) -> None:
        super().__init__()
        self.packed, self.out = nn.Linear(8, 24), nn.Linear(8, 8)

    def forward(self, x: Tensor) -> Tensor:
        n, length, _ = x.shape
        q, k, v = self.packed(x).chunk(3, -1)
        q = q.view(n, -1, 4, 8)

        def around(y: Tensor) -> Tensor:
            y = functional.pad(y, (0, 0, 4, 4)).view(n, -1, 4, 8)
            return torch.cat([y[:, :-2], y[:, 1:-1], y[:, 2:]], 2)

        places = torch.arange(length, device=x.device).view(1, -1, 4, 1)
        inside = functional.pad(torch.ones(length, dtype=x.dtype), (4, 4)).view(-1, 4)
        inside = torch.cat([inside[:-2], inside[1:-1], inside[2:]], 1)[None, :, None]
        scores = q @ around(k).transpose(2, 3) / 3 + (1 - inside) * -1e4 + 0 * places
        return self.out((scores.softmax(-1) @ around(v)).view(n, length, 8))


@network(sizes("N B", (2, 3), (1, 5), (3, 2), (1, 1)), x=normal("N", "4 * B", 8))
def sliding_window() -> nn.Module:
    return SlidingWindow()


class LinearAttention(nn.Module):
    """Performer: keys and values are multiplied first; ALiBi's slopes weigh a second, causal one."""

    def __init__(self) -> None:
        super().__init__()
        self.packed, self.causal = nn.Linear(8, 24), nn.Linear(8, 24)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.packed(x).chunk(3, -1)
        q, k = functional.elu(q) + 1, functional.elu(k) + 1
        normalizer = 1 / (q * k.sum(1, keepdim=True)).sum(-1, keepdim=True)
        x = x + torch.einsum("nld,nde,nlz->nle", q, torch.einsum("nld,nle->nde", k, v), normalizer)
        q, k, v = self.causal(x).chunk(3, -1)
        places = torch.arange(x.shape[1], device=x.device)
        distance = (places[None] - places[:, None]).to(x.dtype)
        bias = torch.where(distance > 0, torch.full_like(distance, -1e4), 0.5 * distance)
        return x + (torch.einsum("nld,nmd->nlm", q, k) + bias).softmax(-1) @ v


@network(TOKENS, x=normal("N", "L", 8))
def linear_attention() -> nn.Module:
    return LinearAttention()


class Experts(nn.Module):
    """A mixture of experts: the two best of four for each token, by weights of a Softmax."""

    def __init__(self) -> None:
        super().__init__()
        self.router = nn.Linear(8, 4)
        self.up, self.down = nn.Parameter(torch.randn(4, 8, 12)), nn.Parameter(torch.randn(4, 12, 8))

    def forward(self, x: Tensor) -> Tensor:
        scores, order = self.router(x).topk(2, -1)
        weights = torch.zeros_like(self.router(x)).scatter(-1, order, scores.softmax(-1))
        y = functional.silu(torch.einsum("nld,edf->enlf", x, self.up))
        y = torch.einsum("enlf,efd->enld", y, self.down)
        return torch.einsum("enld,nle->nld", y, weights)


@network(TOKENS, x=normal("N", "L", 8))
def mixture_of_experts() -> nn.Module:
    return Experts()


class TextCNN(nn.Module):
    """Convolutions of three widths over words, each reduced to its maximum."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(20, 6)
        self.convs = nn.ModuleList([nn.Conv1d(6, 5, size) for size in (2, 3, 4)])
        self.head = nn.Linear(15, 3)

    def forward(self, ids: Tensor) -> Tensor:
        x = self.words(ids).transpose(1, 2)
        return self.head(torch.cat([functional.relu(conv(x)).amax(2) for conv in self.convs], 1))


@network(sizes("N L", (2, 7), (1, 12), (3, 5), (1, 4)), ids=below(20, "N", "L"))
def text_cnn() -> nn.Module:
    return TextCNN()


class ELMo(nn.Module):
    """Two LSTMs of both directions, mixed by learned weights."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(20, 8)
        self.first = nn.LSTM(8, 4, batch_first=True, bidirectional=True)
        self.second = nn.LSTM(8, 4, batch_first=True, bidirectional=True)
        self.weights, self.scale = nn.Parameter(torch.zeros(3)), nn.Parameter(torch.ones(1))

    def forward(self, ids: Tensor) -> Tensor:
        x = self.words(ids)
        a, _ = self.first(x)
        b, _ = self.second(a)
        return self.scale * (self.weights.softmax(0)[:, None, None, None] * torch.stack([x, a, b + a])).sum(0)


@network(TOKENS, ids=below(20, "N", "L"))
def elmo() -> nn.Module:
    return ELMo()


class Perceiver(nn.Module):
    """Few learned latents read many inputs, and queries read the latents."""

    def __init__(self) -> None:
        super().__init__()
        self.latents = nn.Parameter(torch.randn(4, 8))
        self.read, self.block, self.write = CrossAttention(8, 6, 2), Block(8, 2), CrossAttention(6, 8, 2)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        latents = self.latents.expand(x.shape[0], -1, -1)
        latents = self.block(latents + self.read(latents, x, mask[:, None, None]))
        return x + self.write(x, latents)


@network(TOKENS, x=normal("N", "L", 6), mask=prefixes("N", "L"))
def perceiver() -> nn.Module:
    return Perceiver()
