"""Decoders of text, with caches, and pairs of an encoder and a decoder."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from model_zoo.networks.layers import Block, CrossAttention, RMSNorm, rotary
from model_zoo.registry import below, network, normal, sizes

CACHED = sizes("N L P", (2, 3, 5), (1, 1, 6), (3, 4, 0), (1, 2, 9))  # new and past tokens


class GPT(nn.Module):
    """Keys and values of the past are inputs, and those of past and present outputs."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(20, 8), nn.Embedding(16, 8)
        self.norm1, self.packed, self.out = nn.LayerNorm(8), nn.Linear(8, 24), nn.Linear(8, 8)
        self.norm2, self.up, self.down = nn.LayerNorm(8), nn.Linear(8, 16), nn.Linear(16, 8)
        self.head = nn.Linear(8, 20, bias=False)

    def forward(self, ids: Tensor, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        n, length = ids.shape
        past = keys.shape[2]
        position = torch.arange(past, past + length, device=ids.device)
        x = self.words(ids) + self.places(position)
        q, k, v = self.packed(self.norm1(x)).view(n, length, 3, 2, 4).permute(2, 0, 3, 1, 4).unbind(0)
        k, v = torch.cat([keys, k], 2), torch.cat([values, v], 2)
        seen = torch.arange(past + length, device=ids.device) <= position[:, None]
        scores = (q @ k.transpose(2, 3) / 2).masked_fill(~seen, torch.finfo(q.dtype).min)
        y = (scores.softmax(-1) @ v).transpose(1, 2).reshape(n, length, 8)
        x = x + self.out(y)
        x = x + self.down(functional.gelu(self.up(self.norm2(x)), approximate="tanh"))
        return self.head(x), k, v


@network(CACHED, ids=below(20, "N", "L"), keys=normal("N", 2, "P", 4), values=normal("N", 2, "P", 4))
def gpt_with_cache() -> nn.Module:
    return GPT()


class Llama(nn.Module):
    """Rotary positions, fewer heads of keys than of queries, RMS norms, SwiGLU, and a cache."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.norm1, self.norm2 = nn.Embedding(20, 16), RMSNorm(16), RMSNorm(16)
        self.q, self.k, self.v = (nn.Linear(16, n, bias=False) for n in (16, 8, 8))
        self.out, self.gate = nn.Linear(16, 16, bias=False), nn.Linear(16, 12, bias=False)
        self.up, self.down = nn.Linear(16, 12, bias=False), nn.Linear(12, 16, bias=False)
        self.norm3, self.head = RMSNorm(16), nn.Linear(16, 20, bias=False)

    def forward(self, ids: Tensor, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        n, length = ids.shape
        past = keys.shape[2]
        x = self.words(ids)
        y = self.norm1(x)
        q = rotary(self.q(y).view(n, length, 4, 4).transpose(1, 2), past)
        k = rotary(self.k(y).view(n, length, 2, 4).transpose(1, 2), past)
        k = torch.cat([keys, k], 2)
        v = torch.cat([values, self.v(y).view(n, length, 2, 4).transpose(1, 2)], 2)
        seen = torch.ones(length, past + length, dtype=torch.bool, device=ids.device).tril(past)
        wide_k = k[:, :, None].expand(-1, -1, 2, -1, -1).reshape(n, 4, -1, 4)
        wide_v = v[:, :, None].expand(-1, -1, 2, -1, -1).reshape(n, 4, -1, 4)
        y = functional.scaled_dot_product_attention(q, wide_k, wide_v, seen)
        x = x + self.out(y.transpose(1, 2).reshape(n, length, 16))
        y = self.norm2(x)
        x = x + self.down(functional.silu(self.gate(y)) * self.up(y))
        return self.head(self.norm3(x)), k, v


@network(CACHED, ids=below(20, "N", "L"), keys=normal("N", 2, "P", 4), values=normal("N", 2, "P", 4))
def llama_with_cache() -> nn.Module:
    return Llama()


class WhisperEncoder(nn.Module):
    """Two convolutions over time, of which one halves it, and fixed positions."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.conv2 = nn.Conv1d(10, 8, 3, padding=1), nn.Conv1d(8, 8, 3, 2, 1)
        self.block, self.norm = Block(8, 2), nn.LayerNorm(8)
        self.register_buffer("places", torch.randn(40, 8))

    def forward(self, mel: Tensor) -> Tensor:
        x = functional.gelu(self.conv2(functional.gelu(self.conv1(mel)))).transpose(1, 2)
        return self.norm(self.block(x + self.places[: x.shape[1]]))


@network(sizes("N T", (2, 31), (1, 44), (3, 17), (1, 60)), mel=normal("N", 10, "T"))
def whisper_encoder() -> nn.Module:
    return WhisperEncoder()


class WhisperDecoder(nn.Module):
    """Causal attention with a cache, and attention to what the encoder returned."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(20, 8), nn.Parameter(torch.randn(16, 8))
        self.q, self.k, self.v, self.out = (nn.Linear(8, 8) for _ in range(4))
        self.norms = nn.ModuleList([nn.LayerNorm(8) for _ in range(3)])
        self.cross = CrossAttention(8, 6, 2)
        self.mlp = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 8))

    def forward(
        self, ids: Tensor, memory: Tensor, keys: Tensor, values: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        past, length = keys.shape[1], ids.shape[1]
        x = self.words(ids) + self.places[past : past + length]
        y = self.norms[0](x)
        k, v = torch.cat([keys, self.k(y)], 1), torch.cat([values, self.v(y)], 1)
        q, wide_k, wide_v = (z.unflatten(-1, (2, 4)).transpose(1, 2) for z in (self.q(y), k, v))
        mask = torch.full((length, past + length), -torch.inf, dtype=x.dtype, device=x.device)
        z = functional.scaled_dot_product_attention(q, wide_k, wide_v, mask.triu(past + 1))
        x = x + self.out(z.transpose(1, 2).flatten(2))
        x = x + self.cross(self.norms[1](x), memory)
        x = x + self.mlp(self.norms[2](x))
        return x @ self.words.weight.T, k, v


@network(
    sizes("N L P S", (2, 3, 5, 6), (1, 1, 6, 9), (3, 4, 2, 4), (1, 2, 9, 11)),
    ids=below(20, "N", "L"),
    memory=normal("N", "S", 6),
    keys=normal("N", "P", 8),
    values=normal("N", "P", 8),
)
def whisper_decoder() -> nn.Module:
    return WhisperDecoder()


class BART(nn.Module):
    """torch's own encoder and decoder layers, with a causal mask and padding of the source."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(20, 8), nn.Embedding(16, 8)
        self.encoder = nn.TransformerEncoderLayer(8, 2, 16, 0.0, batch_first=True)
        self.decoder = nn.TransformerDecoderLayer(8, 2, 16, 0.0, batch_first=True)

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        places = torch.arange(source.shape[1], device=source.device)
        memory = self.encoder(self.words(source) + self.places(places))
        length = target.shape[1]
        mask = torch.ones(length, length, dtype=torch.bool, device=target.device).triu(1)
        x = self.words(target) + self.places(torch.arange(length, device=target.device))
        return self.decoder(x, memory, tgt_mask=mask) @ self.words.weight.T


@network(
    sizes("N S L", (2, 7, 5), (1, 4, 9), (3, 12, 2), (1, 3, 3)),
    source=below(20, "N", "S"),
    target=below(20, "N", "L"),
)
def bart() -> nn.Module:
    return BART()


class TransformerXL(nn.Module):
    """Relative positions by the shift of a padded matrix of scores."""

    def __init__(self) -> None:
        super().__init__()
        self.q, self.k, self.v, self.r = (nn.Linear(8, 8, bias=False) for _ in range(4))
        self.u, self.w = nn.Parameter(torch.randn(8)), nn.Parameter(torch.randn(8))

    def forward(self, x: Tensor, memory: Tensor) -> Tensor:
        joined = torch.cat([memory, x], 1)
        length, total = x.shape[1], joined.shape[1]
        places = torch.arange(total - 1, -1, -1, device=x.device, dtype=x.dtype)
        angles = places[:, None] * torch.tensor([1.0, 0.3, 0.1, 0.03], dtype=x.dtype)
        r = self.r(torch.cat([angles.sin(), angles.cos()], -1))
        q, k, v = self.q(x), self.k(joined), self.v(joined)
        content, position = (q + self.u) @ k.transpose(1, 2), (q + self.w) @ r.T
        shifted = functional.pad(position, (1, 0)).view(x.shape[0], total + 1, length)
        scores = (content + shifted[:, 1:].reshape(x.shape[0], length, total)) / 3
        hidden = torch.ones(length, total, dtype=torch.bool).triu(total - length + 1)
        return x + scores.masked_fill(hidden, -1e4).softmax(-1) @ v


@network(
    sizes("N L M", (2, 5, 3), (1, 7, 4), (3, 2, 6), (1, 3, 1)),
    x=normal("N", "L", 8),
    memory=normal("N", "M", 8),
)
def transformer_xl() -> nn.Module:
    return TransformerXL()


class Seq2Seq(nn.Module):
    """A GRU reads, another one starts from its state and attends additively."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(20, 6)
        self.encoder = nn.GRU(6, 8, batch_first=True)
        self.decoder = nn.GRU(6, 8, batch_first=True)
        self.a, self.b, self.score, self.head = (
            nn.Linear(8, 6),
            nn.Linear(8, 6),
            nn.Linear(6, 1),
            nn.Linear(16, 20),
        )

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        memory, state = self.encoder(self.words(source))
        y, _ = self.decoder(self.words(target), state)
        scores = self.score(torch.tanh(self.a(y)[:, :, None] + self.b(memory)[:, None]))[..., 0]
        return self.head(torch.cat([y, scores.softmax(-1) @ memory], -1))


@network(
    sizes("N S L", (2, 7, 5), (1, 4, 9), (3, 12, 2), (1, 3, 3)),
    source=below(20, "N", "S"),
    target=below(20, "N", "L"),
)
def seq2seq_gru() -> nn.Module:
    return Seq2Seq()
