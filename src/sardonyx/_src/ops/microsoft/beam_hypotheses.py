"""Beams and the finished sequences of a beam search, as onnxruntime and transformers keep them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from sardonyx._src.ir.tensors import Array

UNSTARTED = -1e9  # score of the beams that begin as copies of the first one


@dataclass(slots=True)
class Hypotheses:
    """The best finished sequences of one prompt: at most `size`, each with its score, the worst one last."""

    size: int
    length_penalty: float
    ends_early: bool
    items: list[tuple[float, Array]] = field(default_factory=list)

    def add(self, sequence: Array, total: float) -> None:
        """Adds a sequence, given the sum of its logarithms, unless there are enough better ones."""
        score = np.float32(total) / np.float32(len(sequence)) ** np.float32(self.length_penalty)
        if len(self.items) < self.size or score > self.items[-1][0]:
            self.items.append((float(score), sequence))
            self.items.sort(key=lambda item: -item[0])
            del self.items[self.size :]

    def are_final(self, best: float, length: int) -> bool:
        """Whether no open sequence can become better; best: the largest sum of theirs."""
        if len(self.items) < self.size:
            return False
        limit = np.float32(best) / np.float32(length) ** np.float32(self.length_penalty)
        return self.ends_early or bool(self.items[-1][0] >= limit)


@dataclass(slots=True)
class Beams:
    """The open sequences of all prompts.

    scores: [batch * beams], the sum of logarithms of each.  finished: the sequences that have ended, by prompt.  is_done: by
    prompt.
    """

    beams: int
    end_token: int
    pad_token: int
    scores: Array
    finished: list[Hypotheses]
    is_done: Array

    @classmethod
    def start(
        cls,
        batch: int,
        beams: int,
        end_token: int,
        pad_token: int,
        length_penalty: float,
        *,
        ends_early: bool,
    ) -> Beams:
        scores = np.full((batch, beams), UNSTARTED, np.float32)
        scores[:, :1] = 0
        finished = [Hypotheses(beams, length_penalty, ends_early) for _ in range(batch)]
        return cls(beams, end_token, pad_token, scores.reshape(-1), finished, np.zeros(batch, bool))

    def choose(self, totals: Array, sequences: Array) -> tuple[Array, Array]:
        """The next token of every beam, and which of the sequences so far it continues; both [batch * beams].

        totals: [batch * beams, vocabulary], the sums of logarithms for every next token.
        """
        vocabulary = totals.shape[1]
        by_prompt = totals.reshape(len(self.is_done), self.beams * vocabulary)
        order = [greatest(row, 2 * self.beams) for row in by_prompt]
        tokens = np.full(len(totals), self.pad_token, np.int32)
        rows = np.zeros(len(totals), np.int64)
        for prompt in np.flatnonzero(self.is_done):
            self.scores[prompt * self.beams : (prompt + 1) * self.beams] = 0
        for prompt in np.flatnonzero(~self.is_done):
            first, beam = int(prompt) * self.beams, 0
            for rank, choice in enumerate(order[prompt]):
                row, token, total = (
                    first + choice // vocabulary,
                    choice % vocabulary,
                    by_prompt[prompt, choice],
                )
                if token != self.end_token:
                    tokens[first + beam], rows[first + beam], self.scores[first + beam] = token, row, total
                    beam += 1
                elif rank < self.beams:
                    self.finished[prompt].add(sequences[row], float(total))
                if beam == self.beams:
                    break
            best = float(by_prompt[prompt, order[prompt][0]])
            self.is_done[prompt] = self.finished[prompt].are_final(best, sequences.shape[1])
        return tokens, rows

    def close(self, sequences: Array) -> None:
        """Ends the open sequences of prompts that are not done."""
        for prompt in np.flatnonzero(~self.is_done):
            for row in range(prompt * self.beams, (prompt + 1) * self.beams):
                self.finished[prompt].add(sequences[row], float(self.scores[row]))


def greatest(scores: Array, count: int) -> Array:
    """The indices of the `count` greatest scores, the greatest first, and of equal ones the first; NaNs are last.

    A vocabulary is long, so that it is not sorted as a whole.
    """
    negative = -scores
    if count < len(scores):
        limit = np.partition(negative, count - 1)[count - 1]
        if not np.isnan(limit):
            candidates = np.flatnonzero(negative <= limit)
            return candidates[np.argsort(negative[candidates], kind="stable")[:count]]
    return np.argsort(negative, kind="stable")[:count]
