"""The beams of a beam search, and its finished sequences, as onnxruntime and transformers keep them.

A beam is an open sequence, which continues with a token in each step.  The "sum" of a sequence is the sum of the
logarithms of its tokens' probabilities.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from sardonyx_generation.arrays import Array

UNSTARTED = (
    -1e9
)  # the sum of beams that begin as copies of the first one: they are not chosen in the first step


@dataclass(slots=True)
class Hypotheses:
    """The best finished sequences of one prompt.

    size: the largest number of sequences.
    length_penalty: the power of the length by which a sum is divided to give the score.
    ends_early: whether the search ends once there are `size` sequences, even if open ones could become better.
    items: the sequences with their scores, the best one first.
    """

    size: int
    length_penalty: float
    ends_early: bool
    items: list[tuple[float, Array]] = field(default_factory=list)

    def add(self, sequence: Array, total: float) -> None:
        """Adds a sequence with its sum, unless there are `size` better ones."""
        score = np.float32(total) / np.float32(len(sequence)) ** np.float32(self.length_penalty)
        if len(self.items) < self.size or score > self.items[-1][0]:
            self.items.append((float(score), sequence))
            self.items.sort(key=lambda item: -item[0])
            del self.items[self.size :]

    def are_final(self, best: float, length: int) -> bool:
        """Whether no open sequence can become better than these; best: the largest sum of an open one."""
        if len(self.items) < self.size:
            return False
        limit = np.float32(best) / np.float32(length) ** np.float32(self.length_penalty)
        return self.ends_early or bool(self.items[-1][0] >= limit)


@dataclass(slots=True)
class Beams:
    """The open sequences of all prompts.

    beams: the number of open sequences of each prompt.
    end_token, pad_token: the token that ends a sequence, and the token that follows it.
    scores: [batch * beams], the sum of each open sequence.
    finished: for each prompt, the sequences that have ended.
    is_done: [batch] bool, whether the search for a prompt has ended.
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
        """The next token of every beam, and the row of the sequence that it continues: [batch * beams] each.

        totals: [batch * beams, vocabulary], the sum of each sequence with each next token.
        """
        vocabulary, beams = totals.shape[1], self.beams
        by_prompt = totals.reshape(len(self.is_done), beams * vocabulary)
        tokens, rows = [self.pad_token] * len(totals), [0] * len(totals)
        for prompt, is_done in enumerate(self.is_done.tolist()):
            first, sums = prompt * beams, list[float]()
            if is_done:
                self.scores[first : first + beams] = 0
                continue
            order = greatest(by_prompt[prompt], 2 * beams)
            best = by_prompt[prompt, order].tolist()
            for rank, (choice, total) in enumerate(zip(order.tolist(), best, strict=True)):
                row, token = first + choice // vocabulary, choice % vocabulary
                if token != self.end_token:
                    tokens[first + len(sums)], rows[first + len(sums)] = token, row
                    sums.append(total)
                elif rank < beams:
                    self.finished[prompt].add(sequences[row], total)
                if len(sums) == beams:
                    break
            self.scores[first : first + len(sums)] = sums
            self.is_done[prompt] = self.finished[prompt].are_final(best[0], sequences.shape[1])
        return np.array(tokens, np.int32), np.array(rows, np.int64)

    def close(self, sequences: Array) -> None:
        """Ends the open sequences of prompts that are not done."""
        for prompt in np.flatnonzero(~self.is_done):
            for row in range(prompt * self.beams, (prompt + 1) * self.beams):
                self.finished[prompt].add(sequences[row], float(self.scores[row]))


def greatest(scores: Array, count: int) -> Array:
    """The indices of the `count` greatest scores, the greatest first; of equal scores the first; NaN last.

    Only candidates are sorted, since a vocabulary is long.
    """
    negative = -scores
    if count < len(scores):
        limit = np.partition(negative, count - 1)[count - 1]
        if not math.isnan(limit):
            candidates = (negative <= limit).nonzero()[0]
            return np.asarray(candidates[negative[candidates].argsort(kind="stable")[:count]])
    return np.argsort(negative, kind="stable")[:count]
