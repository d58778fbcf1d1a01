"""Tables, recommendations, mixtures and policies."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from model_zoo.networks.layers import Block
from model_zoo.registry import below, network, normal, sizes, uniform

ROWS = sizes("N", (12,), (1,), (33,), (7,))


class DLRM(nn.Module):
    """Products of all pairs of embeddings, of which the lower triangle is used."""

    def __init__(self) -> None:
        super().__init__()
        self.tables = nn.ModuleList([nn.Embedding(n, 6) for n in (5, 9, 4)])
        self.bottom = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 6), nn.ReLU())
        self.top = nn.Sequential(nn.Linear(12, 8), nn.ReLU(), nn.Linear(8, 1), nn.Sigmoid())
        self.register_buffer("pairs", torch.tril_indices(4, 4, -1))

    def forward(self, dense: Tensor, sparse: Tensor) -> Tensor:
        x = self.bottom(dense)
        rows = [table(sparse[:, i] % table.num_embeddings) for i, table in enumerate(self.tables)]
        t = torch.stack([x, *rows], 1)
        products = torch.bmm(t, t.transpose(1, 2))
        return self.top(torch.cat([x, products[:, self.pairs[0], self.pairs[1]]], 1))


@network(ROWS, dense=normal("N", 4), sparse=below(20, "N", 3))
def dlrm() -> nn.Module:
    return DLRM()


def sparsemax(x: Tensor) -> Tensor:
    """The nearest probabilities to scores [n, k], many of them 0."""
    ordered = x.sort(-1, descending=True).values
    sums = ordered.cumsum(-1)
    k = torch.arange(1, x.shape[-1] + 1, dtype=x.dtype, device=x.device)
    support = (1 + k * ordered > sums).to(x.dtype)
    count = support.sum(-1, keepdim=True)
    threshold = (sums.gather(-1, count.long() - 1) - 1) / count
    return (x - threshold).clamp(min=0)


class TabNet(nn.Module):
    """Steps that choose features by sparsemax, and gated layers."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(6)
        self.shared, self.own = nn.Linear(6, 16), nn.ModuleList([nn.Linear(8, 16) for _ in range(3)])
        self.choose = nn.ModuleList([nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6)) for _ in range(2)])
        self.head = nn.Linear(4, 2)

    def transform(self, x: Tensor, i: int) -> Tensor:
        y = functional.glu(self.shared(x))
        return (y + functional.glu(self.own[i](y))) * 0.5**0.5

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        x = self.norm(x)
        prior, total = torch.ones_like(x), 0
        attention = self.transform(x, 0)[:, 4:]
        for i, choose in enumerate(self.choose):
            mask = sparsemax(choose(attention) * prior)
            prior = prior * (1.5 - mask)
            y = self.transform(mask * x, i + 1)
            total = total + functional.relu(y[:, :4])
            attention = y[:, 4:]
        return self.head(total), prior


@network(ROWS, x=normal("N", 6))
def tabnet() -> nn.Module:
    return TabNet()


class DeepFM(nn.Module):
    """Factorization machine: half of the square of a sum minus the sum of squares; wide, deep and cross layers."""

    def __init__(self) -> None:
        super().__init__()
        self.fields, self.linear = nn.Embedding(20, 6), nn.Embedding(20, 1)
        self.deep = nn.Sequential(nn.Linear(24, 8), nn.ReLU(), nn.Dropout(0.1), nn.Linear(8, 1))
        self.cross = nn.ModuleList([nn.Linear(24, 24), nn.Linear(24, 24)])
        self.out = nn.Linear(24, 1)

    def forward(self, ids: Tensor) -> Tensor:
        x = self.fields(ids)
        pairs = 0.5 * (x.sum(1) ** 2 - (x**2).sum(1)).sum(1)
        flat = x.flatten(1)
        y = flat
        for layer in self.cross:
            y = flat * layer(y) + y
        return torch.sigmoid(
            self.linear(ids).sum((1, 2)) + pairs + (self.deep(flat) + self.out(y)).squeeze(1)
        )


@network(ROWS, ids=below(20, "N", 4))
def deepfm() -> nn.Module:
    return DeepFM()


class FTTransformer(nn.Module):
    """A token for each column, number or category, and one for the class."""

    def __init__(self) -> None:
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.randn(4, 8)), nn.Parameter(torch.randn(4, 8))
        self.categories, self.token = nn.Embedding(12, 8), nn.Parameter(torch.randn(8))
        self.register_buffer("offsets", torch.tensor([0, 5]))
        self.block, self.head = Block(8, 2), nn.Sequential(nn.LayerNorm(8), nn.ReLU(), nn.Linear(8, 2))

    def forward(self, numbers: Tensor, categories: Tensor) -> Tensor:
        x = self.weight[None] * numbers[..., None] + self.bias
        c = self.categories(categories + self.offsets)
        tokens = torch.cat([self.token.expand(x.shape[0], 1, -1), x, c], 1)
        return self.head(self.block(tokens)[:, 0])


@network(ROWS, numbers=normal("N", 4), categories=below(5, "N", 2))
def ft_transformer() -> nn.Module:
    return FTTransformer()


class NODE(nn.Module):
    """Oblivious trees: soft choices of features, and products over the levels of a tree."""

    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Parameter(torch.randn(5, 4, 3))
        self.thresholds, self.temperatures = nn.Parameter(torch.randn(4, 3)), nn.Parameter(torch.zeros(4, 3))
        self.response = nn.Parameter(torch.randn(4, 8))
        codes = torch.tensor([[(leaf >> level) & 1 for leaf in range(8)] for level in range(3)]).float()
        self.register_buffer("codes", torch.stack([codes, 1 - codes], 1))

    def forward(self, x: Tensor) -> Tensor:
        chosen = torch.einsum("nf,ftl->ntl", x, self.features.softmax(0))
        logits = (chosen - self.thresholds) * torch.exp(-self.temperatures)
        bins = torch.stack([-logits, logits], -1).mul(0.5).add(0.5).clamp(0, 1)
        leaves = torch.einsum("ntlb,lbc->ntlc", bins, self.codes).prod(2)
        return (leaves * self.response).sum((1, 2))


@network(ROWS, x=normal("N", 5))
def oblivious_trees() -> nn.Module:
    return NODE()


class MMoE(nn.Module):
    """Experts shared by two tasks, each with gates of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.experts = nn.ModuleList([nn.Sequential(nn.Linear(6, 8), nn.ReLU()) for _ in range(3)])
        self.gates = nn.ModuleList([nn.Linear(6, 3, bias=False) for _ in range(2)])
        self.towers = nn.ModuleList([nn.Linear(8, 1) for _ in range(2)])

    def forward(self, x: Tensor) -> list[Tensor]:
        experts = torch.stack([expert(x) for expert in self.experts], 1)
        mixed = [(gate(x).softmax(1).unsqueeze(-1) * experts).sum(1) for gate in self.gates]
        return [tower(y).sigmoid() for tower, y in zip(self.towers, mixed, strict=True)]


@network(ROWS, x=normal("N", 6))
def mixture_of_tasks() -> nn.Module:
    return MMoE()


class GaussianMixture(nn.Module):
    """Mixture density: log likelihoods of fed targets; a Gaussian process's products beside it."""

    def __init__(self) -> None:
        super().__init__()
        self.body, self.head = nn.Sequential(nn.Linear(3, 8), nn.Tanh()), nn.Linear(8, 9)
        self.points, self.values = nn.Parameter(torch.randn(5, 3)), nn.Parameter(torch.randn(5))

    def forward(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        logits, means, logs = self.head(self.body(x)).split(3, 1)
        logs = functional.hardtanh(logs, -2, 2)
        density = -0.5 * ((y[:, None] - means) / logs.exp()) ** 2 - logs
        kernel = torch.exp(
            -0.5 * torch.cdist(x, self.points, compute_mode="donot_use_mm_for_euclid_dist") ** 2
        )
        return torch.logsumexp(logits.log_softmax(1) + density, 1), kernel @ self.values


@network(ROWS, x=normal("N", 3), y=normal("N"))
def mixture_density() -> nn.Module:
    return GaussianMixture()


class ActorCritic(nn.Module):
    """Policies, values and a dueling network of a game's state."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(2, 6, 3, 2), nn.ReLU(), nn.Conv2d(6, 8, 3, 1), nn.ReLU(), nn.Flatten()
        )
        self.policy, self.value, self.advantage = nn.Linear(32, 4), nn.Linear(32, 1), nn.Linear(32, 4)

    def forward(self, x: Tensor, legal: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        y = self.body(x)
        scores = self.policy(y).masked_fill(legal < 0.3, -1e9)
        advantage = self.advantage(y)
        values = self.value(y) + advantage - advantage.mean(1, keepdim=True)
        return scores.softmax(1), values, values.argmax(1)


@network(ROWS, x=normal("N", 2, 10, 10), legal=uniform("N", 4))
def actor_critic() -> nn.Module:
    return ActorCritic()
