"""Networks over graphs and sets: dense adjacencies, lists of edges, and pools that do not depend on the order."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from model_zoo.networks.layers import CrossAttention
from model_zoo.registry import below, links, network, normal, prefixes, sizes, uniform

DENSE = sizes("N V", (2, 7), (1, 12), (3, 5), (1, 2))
EDGES = sizes("V E", (7, 15), (12, 30), (5, 9), (3, 1))


class GCN(nn.Module):
    """Products with an adjacency that the degrees normalize."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(6, 8), nn.Linear(8, 3)

    def forward(self, x: Tensor, adjacency: Tensor) -> Tensor:
        scale = adjacency.sum(-1).pow(-0.5)
        normal_adjacency = scale[:, :, None] * adjacency * scale[:, None]
        y = functional.relu(normal_adjacency @ self.first(x))
        return (normal_adjacency @ self.second(y)).log_softmax(-1)


@network(DENSE, x=normal("N", "V", 6), adjacency=links("N", "V", "V"))
def gcn() -> nn.Module:
    return GCN()


class GAT(nn.Module):
    """Attention over neighbours, by sums of scores of both ends."""

    def __init__(self) -> None:
        super().__init__()
        self.project = nn.Linear(6, 8, bias=False)
        self.source, self.target = nn.Parameter(torch.randn(2, 4)), nn.Parameter(torch.randn(2, 4))
        self.head = nn.Linear(8, 3)

    def forward(self, x: Tensor, adjacency: Tensor) -> Tensor:
        y = self.project(x).view(x.shape[0], x.shape[1], 2, 4)
        a, b = (y * self.source).sum(-1), (y * self.target).sum(-1)
        scores = functional.leaky_relu(a[:, :, None] + b[:, None], 0.2)
        scores = scores.masked_fill(adjacency[..., None] == 0, -1e9).softmax(2)
        y = torch.einsum("nijh,njhd->nihd", scores, y).flatten(2)
        return self.head(functional.elu(y))


@network(DENSE, x=normal("N", "V", 6), adjacency=links("N", "V", "V"))
def gat() -> nn.Module:
    return GAT()


class GraphSAGE(nn.Module):
    """Means over incoming edges, by sums into the rows of their targets; TorchScript writes no sums for index_add."""

    def __init__(self) -> None:
        super().__init__()
        self.own, self.near, self.head = nn.Linear(6, 8), nn.Linear(6, 8), nn.Linear(8, 3)

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        source, target = edges[0], edges[1]
        total = torch.zeros_like(x).index_add(0, target, x[source])
        count = torch.zeros_like(x[:, 0]).index_add(0, target, torch.ones_like(source).to(x.dtype))
        mean = total / count.clamp(min=1)[:, None]
        y = functional.relu(self.own(x) + self.near(mean))
        return self.head(functional.normalize(y, dim=-1))


@network(EDGES, x=normal("V", 6), edges=below("V", 2, "E"))
def graphsage() -> nn.Module:
    return GraphSAGE()


class GIN(nn.Module):
    """Sums over neighbours, and a sum over each graph of a batch."""

    def __init__(self) -> None:
        super().__init__()
        self.epsilon = nn.Parameter(torch.zeros(1))
        self.mlp = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 6), nn.BatchNorm1d(6))
        self.head = nn.Linear(6, 2)

    def forward(self, x: Tensor, edges: Tensor, graph: Tensor) -> Tensor:
        near = torch.zeros_like(x).scatter_add(0, edges[1][:, None].expand(-1, 6), x[edges[0]])
        y = self.mlp((1 + self.epsilon) * x + near)
        pooled = torch.zeros(3, 6, dtype=x.dtype).scatter_add(0, graph[:, None].expand(-1, 6), y)
        return self.head(pooled)


@network(EDGES, x=normal("V", 6), edges=below("V", 2, "E"), graph=below(3, "V"))
def gin() -> nn.Module:
    return GIN()


class EdgeAttention(nn.Module):
    """A Softmax over the edges of each target: maxima and sums by scatter."""

    def __init__(self) -> None:
        super().__init__()
        self.score, self.value = nn.Linear(12, 1), nn.Linear(6, 6)

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        source, target = edges[0], edges[1]
        scores = functional.leaky_relu(self.score(torch.cat([x[source], x[target]], 1))[:, 0])
        most = torch.full_like(x[:, 0], -1e9).scatter_reduce(0, target, scores, "amax")
        weights = torch.exp(scores - most[target])
        total = torch.zeros_like(x[:, 0]).scatter_add(0, target, weights)
        weights = weights / (total[target] + 1e-9)
        messages = weights[:, None] * self.value(x)[source]
        return torch.zeros_like(x).scatter_add(0, target[:, None].expand(-1, 6), messages)


@network(EDGES, x=normal("V", 6), edges=below("V", 2, "E"))
def gat_of_edges() -> nn.Module:
    return EdgeAttention()


class SchNet(nn.Module):
    """Radial functions of distances weigh the neighbours; forces move the points, as in EGNN."""

    def __init__(self) -> None:
        super().__init__()
        self.kinds = nn.Embedding(5, 6)
        self.filter = nn.Sequential(nn.Linear(4, 6), nn.Softplus(), nn.Linear(6, 6))
        self.register_buffer("centres", torch.linspace(0, 3, 4))
        self.force, self.energy = nn.Linear(6, 1), nn.Linear(6, 1)

    def forward(self, kinds: Tensor, places: Tensor) -> tuple[Tensor, Tensor]:
        x = self.kinds(kinds)
        offsets = places[:, :, None] - places[:, None]
        distances = (offsets.pow(2).sum(-1) + 1e-6).sqrt()
        weights = self.filter(torch.exp(-2 * (distances[..., None] - self.centres) ** 2))
        y = x + (weights * x[:, None]).sum(2)
        force = (offsets * torch.tanh(self.force(weights * y[:, None]))).mean(2)
        return self.energy(y).sum((1, 2)), places + force


@network(DENSE, kinds=below(5, "N", "V"), places=normal("N", "V", 3))
def schnet() -> nn.Module:
    return SchNet()


class SetTransformer(nn.Module):
    """Induced points, and a pool by attention of masked members."""

    def __init__(self) -> None:
        super().__init__()
        self.points, self.seed = nn.Parameter(torch.randn(3, 8)), nn.Parameter(torch.randn(2, 8))
        self.inward, self.outward, self.pool = (
            CrossAttention(8, 6, 2),
            CrossAttention(6, 8, 2),
            CrossAttention(8, 6, 2),
        )

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        hidden = mask[:, None, None]
        points = self.inward(self.points.expand(x.shape[0], -1, -1), x, hidden)
        x = x + self.outward(x, points)
        return self.pool(self.seed.expand(x.shape[0], -1, -1), x, hidden).flatten(1)


@network(DENSE, x=normal("N", "V", 6), mask=prefixes("N", "V"))
def set_transformer() -> nn.Module:
    return SetTransformer()


class DeepSets(nn.Module):
    """Maximum, mean and deviation over members, and each member relative to them."""

    def __init__(self) -> None:
        super().__init__()
        self.phi, self.rho = nn.Linear(4, 6), nn.Linear(18, 3)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        y = functional.gelu(self.phi(x))
        mean, most = y.mean(1, keepdim=True), y.max(1, keepdim=True).values
        spread = (y - mean).abs().mean(1, keepdim=True)
        whole = self.rho(torch.cat([mean, most, spread], -1)).squeeze(1)
        return whole, (y - mean) / (spread + 1e-3)


@network(DENSE, x=uniform("N", "V", 4))
def deep_sets() -> nn.Module:
    return DeepSets()


class LinkPrediction(nn.Module):
    """TransE and a bilinear score of triples, by rows of embeddings."""

    def __init__(self) -> None:
        super().__init__()
        self.entities, self.relations = nn.Embedding(10, 6), nn.Embedding(4, 6)
        self.core = nn.Bilinear(6, 6, 1)

    def forward(self, triples: Tensor) -> tuple[Tensor, Tensor]:
        head, relation, tail = triples.unbind(1)
        h, r, t = self.entities(head), self.relations(relation % 4), self.entities(tail)
        return -(h + r - t).norm(p=1, dim=1), self.core(h * r, t)[:, 0]


@network(sizes("B", (12,), (1,), (33,), (7,)), triples=below(10, "B", 3))
def link_prediction() -> nn.Module:
    return LinkPrediction()
