"""Branches, loops and iterations: in the graph, where torch keeps them, and unrolled."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from model_zoo.registry import below, network, normal, sizes, uniform

SEQUENCES = sizes("N L", (2, 7), (1, 12), (3, 5), (1, 2))
ROWS = sizes("N", (12,), (1,), (33,), (7,))


class Branch(nn.Module):
    """torch.cond: another layer for a large input than for a small one."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(6, 8), nn.Linear(6, 8)
        self.head = nn.Linear(8, 3)

    def forward(self, x: Tensor) -> Tensor:
        y = torch.cond(
            x.sum() > 0,
            lambda z: torch.relu(self.a(z)),
            lambda z: torch.tanh(self.b(z)) * 2,
            (x,),
        )
        return self.head(y)


@network(ROWS, x=normal("N", 6))
def branch() -> nn.Module:
    return Branch()


class ScriptedRecurrence(torch.nn.Module):
    """A loop over the length of the input, which TorchScript keeps."""

    def __init__(self) -> None:
        super().__init__()
        self.enter, self.step = nn.Linear(4, 6), nn.Linear(6, 6)

    def forward(self, x: Tensor) -> Tensor:
        state = torch.zeros(x.size(0), 6, dtype=x.dtype)
        for t in range(x.size(1)):
            state = torch.tanh(self.enter(x[:, t]) + self.step(state))
        return state


@network(SEQUENCES, x=normal("N", "L", 4))
def scripted_recurrence() -> nn.Module:
    return torch.jit.script(ScriptedRecurrence())


class Halting(nn.Module):
    """Adaptive computation: a step for as long as the sum of probabilities of halting is small."""

    def __init__(self) -> None:
        super().__init__()
        self.step, self.halt = nn.Linear(6, 6), nn.Linear(6, 1)

    def forward(self, x: Tensor) -> Tensor:
        total = torch.zeros(x.size(0), 1, dtype=x.dtype)
        result = torch.zeros_like(x)
        count = 0
        while count < 6 and bool(total.min() < 0.99):
            x = torch.tanh(self.step(x))
            p = torch.minimum(torch.sigmoid(self.halt(x)), 1 - total)
            result, total = result + p * x, total + p
            count += 1
        return result


@network(ROWS, x=normal("N", 6))
def halting() -> nn.Module:
    return torch.jit.script(Halting())


class Viterbi(nn.Module):
    """The best path of a conditional random field over six steps, and its score."""

    def __init__(self) -> None:
        super().__init__()
        self.emit, self.transitions = nn.Linear(4, 5), nn.Parameter(torch.randn(5, 5))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        emissions = self.emit(x)
        score, pointers = emissions[:, 0], []
        for t in range(1, 6):
            best = (score[:, :, None] + self.transitions).max(1)
            score = best.values + emissions[:, t]
            pointers.append(best.indices)
        total, tag = score.max(1)
        path = [tag]
        for pointer in reversed(pointers):
            tag = pointer.gather(1, tag[:, None])[:, 0]
            path.append(tag)
        return torch.stack(path[::-1], 1), total


@network(ROWS, x=normal("N", 6, 4))
def crf_viterbi() -> nn.Module:
    return Viterbi()


class CRFLoss(nn.Module):
    """The logarithm of the sum over all paths, minus the score of given tags."""

    def __init__(self) -> None:
        super().__init__()
        self.emit, self.transitions = nn.Linear(4, 5), nn.Parameter(torch.randn(5, 5))

    def forward(self, x: Tensor, tags: Tensor) -> Tensor:
        emissions = self.emit(x)
        alpha = emissions[:, 0]
        for t in range(1, 6):
            alpha = torch.logsumexp(alpha[:, :, None] + self.transitions, 1) + emissions[:, t]
        own = emissions.gather(2, tags[..., None])[..., 0].sum(1)
        return torch.logsumexp(alpha, 1) - own - self.transitions[tags[:, :-1], tags[:, 1:]].sum(1)


@network(ROWS, x=normal("N", 6, 4), tags=below(5, "N", 6))
def crf_loss() -> nn.Module:
    return CRFLoss()


class BeamSearch(nn.Module):
    """Four steps of three beams of a recurrent decoder, whose states are gathered by beam."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.cell, self.head = nn.Embedding(9, 6), nn.GRUCell(6, 6), nn.Linear(6, 9)

    def forward(self, state: Tensor) -> tuple[Tensor, Tensor]:
        n, beams = state.shape[0], 3
        state = state[:, None].expand(n, beams, 6).reshape(n * beams, 6)
        tokens = torch.zeros(n * beams, dtype=torch.long, device=state.device)
        scores = torch.tensor([0.0, -1e4, -1e4], dtype=state.dtype).expand(n, beams)
        history = torch.zeros(n, beams, 0, dtype=torch.long, device=state.device)
        for _ in range(4):
            state = self.cell(self.words(tokens), state)
            logs = self.head(state).log_softmax(-1).view(n, beams, 9)
            scores, order = (scores[..., None] + logs).flatten(1).topk(beams, 1)
            beam, tokens = order // 9, (order % 9).reshape(-1)
            rows = (beam + torch.arange(n, device=beam.device)[:, None] * beams).reshape(-1)
            state = state[rows]
            history = history.gather(1, beam[..., None].expand(-1, -1, history.shape[2]))
            history = torch.cat([history, tokens.view(n, beams, 1)], 2)
        return history, scores


@network(sizes("N", (3,), (1,), (5,), (2,)), state=normal("N", 6))
def beam_search() -> nn.Module:
    return BeamSearch()


class Capsules(nn.Module):
    """Routing by agreement in three iterations."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.weight = nn.Conv2d(1, 8, 3, 2), nn.Parameter(0.3 * torch.randn(3, 4, 6))

    def squash(self, x: Tensor) -> Tensor:
        square = (x**2).sum(-1, keepdim=True)
        return square / (1 + square) * x / (square + 1e-6).sqrt()

    def forward(self, x: Tensor) -> Tensor:
        y = self.conv(x)
        capsules = self.squash(y.flatten(2).transpose(1, 2).reshape(y.shape[0], -1, 4))
        votes = torch.einsum("nid,kde->nike", capsules, self.weight)
        logits = torch.zeros_like(votes[..., 0])
        for _ in range(3):
            result = self.squash((logits.softmax(2)[..., None] * votes).sum(1))
            logits = logits + (votes * result[:, None]).sum(-1)
        return result


@network(sizes("N H W", (2, 9, 7), (1, 8, 8), (3, 5, 6), (1, 12, 11)), x=normal("N", 1, "H", "W"))
def capsules() -> nn.Module:
    return Capsules()


class ODE(nn.Module):
    """A neural differential equation by three steps of Runge and Kutta."""

    def __init__(self) -> None:
        super().__init__()
        self.field = nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 4))

    def slope(self, t: float, y: Tensor) -> Tensor:
        return self.field(torch.cat([y, torch.full_like(y[:, :1], t)], 1))

    def forward(self, y: Tensor) -> Tensor:
        h, path = 0.2, [y]
        for i in range(3):
            t = i * h
            k1 = self.slope(t, y)
            k2 = self.slope(t + h / 2, y + h / 2 * k1)
            k3 = self.slope(t + h / 2, y + h / 2 * k2)
            k4 = self.slope(t + h, y + h * k3)
            y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
            path.append(y)
        return torch.stack(path)


@network(ROWS, y=normal("N", 4))
def neural_ode() -> nn.Module:
    return ODE()


class KMeans(nn.Module):
    """Two iterations of means of the nearest points, and slots of attention as in object discovery."""

    def __init__(self) -> None:
        super().__init__()
        self.centres, self.cell = nn.Parameter(torch.randn(3, 4)), nn.GRUCell(4, 4)
        self.k, self.v, self.q = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        n = x.shape[0]
        slots = self.centres.expand(n, -1, -1)
        k, v = self.k(x), self.v(x)
        for _ in range(2):
            weights = (k @ self.q(slots).transpose(1, 2)).softmax(-1) + 1e-6
            updates = (weights / weights.sum(1, keepdim=True)).transpose(1, 2) @ v
            slots = self.cell(updates.reshape(n * 3, 4), slots.reshape(n * 3, 4)).view(n, 3, 4)
        nearest = torch.cdist(x, slots).argmin(2)
        member = functional.one_hot(nearest, 3).to(x.dtype)
        means = member.transpose(1, 2) @ x / (member.sum(1)[..., None] + 1e-6)
        return means, nearest


@network(SEQUENCES, x=normal("N", "L", 4))
def slots() -> nn.Module:
    return KMeans()


class Greedy(nn.Module):
    """The decoding of CTC: the best class of each frame, its changes, and the mean of confidences."""

    def __init__(self) -> None:
        super().__init__()
        self.head = nn.Linear(4, 6)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        logs = self.head(x).log_softmax(-1)
        best, classes = logs.max(-1)
        before = functional.pad(classes[:, :-1], (1, 0), value=-1)
        kept = (classes != before) & (classes != 0)
        confidence = (best.exp() * kept.to(x.dtype)).sum(1) / kept.sum(1).clamp(min=1)
        return torch.where(kept, classes, torch.full_like(classes, -1)), confidence, kept.long().cumsum(1)


@network(SEQUENCES, x=normal("N", "L", 4))
def ctc_greedy() -> nn.Module:
    return Greedy()


class NonZeros(nn.Module):
    """Rows chosen by a condition, whose number only the run tells, and what becomes of them."""

    def __init__(self) -> None:
        super().__init__()
        self.score, self.body = nn.Linear(4, 1), nn.Linear(4, 6)

    def forward(self, x: Tensor, threshold: Tensor) -> tuple[Tensor, Tensor]:
        scores = self.score(x)[:, 0].sigmoid()
        chosen = x[scores > threshold.mean() * 0.8]
        y = functional.gelu(self.body(chosen))
        return torch.cat([y, chosen], 1), y.sum(0)


@network(ROWS, x=normal("N", 4), threshold=uniform(3))
def chosen_rows() -> nn.Module:
    return NonZeros()
