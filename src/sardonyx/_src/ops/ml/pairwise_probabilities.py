"""Class probabilities by pairwise coupling.

Method 2 of Wu, Lin and Weng, "Probability estimates for multi-class classification by pairwise coupling" (2004), with
the limits of LIBSVM: the probabilities p minimize the sum over pairs of (r_ji p_i - r_ij p_j) ** 2.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from sardonyx._src.ops.ml.post_transforms import Scores

MIN_PROBABILITY = 1e-7  # the smallest probability of a class in a pair of classes
MIN_ROUNDS = 100  # the largest number of rounds, unless there are more classes
TOLERANCE = 0.005  # divided by the number of classes, the largest error in an optimality condition


def couple_probabilities(values: Scores, a: Scores, b: Scores, classes: int) -> Scores:
    """values: [N, pairs] decision values, a, b: [pairs]; result: [N, classes]."""
    with np.errstate(all="ignore"):
        wins = np.clip(1 / (1 + np.exp(values * a + b)), MIN_PROBABILITY, 1 - MIN_PROBABILITY)
    r = np.zeros((len(values), classes, classes))
    for p, (i, j) in enumerate(combinations(range(classes), 2)):
        r[:, i, j], r[:, j, i] = wins[:, p], 1 - wins[:, p]
    return minimize(quadratic(r))


def quadratic(r: Scores) -> Scores:
    """The matrix Q, [N, classes, classes], for which p Q p is the sum to be minimized.

    Q_ii is the sum of r_ji ** 2 over j, and Q_ij is -r_ji r_ij.
    """
    Q = -r * r.transpose(0, 2, 1)
    diagonal = np.arange(r.shape[1])
    Q[:, diagonal, diagonal] = (r * r).sum(axis=1)
    return Q


def minimize(Q: Scores) -> Scores:
    """The p that minimizes p Q p: coordinate descent until all optimality conditions hold to `TOLERANCE` / classes."""
    classes = Q.shape[1]
    p = np.full((len(Q), classes), 1 / classes)
    active = np.arange(len(Q))
    for _ in range(max(MIN_ROUNDS, classes)):
        Qp = np.einsum("nij,nj->ni", Q[active], p[active])
        pQp = (p[active] * Qp).sum(axis=1)
        far = np.abs(Qp - pQp[:, np.newaxis]).max(axis=1) >= TOLERANCE / classes
        active = active[far]
        if not len(active):
            break
        p[active] = sweep(Q[active], p[active], Qp[far], pQp[far])
    return p


def sweep(Q: Scores, p: Scores, Qp: Scores, pQp: Scores) -> Scores:
    """One round: each p_t in turn is set to its best value, with the others fixed, and p is scaled to sum to 1 again."""
    p, Qp, pQp = p.copy(), Qp.copy(), pQp.copy()
    for t in range(Q.shape[1]):
        step = (pQp - Qp[:, t]) / Q[:, t, t]
        p[:, t] += step
        total = 1 + step
        pQp = (pQp + step * (step * Q[:, t, t] + 2 * Qp[:, t])) / (total * total)
        Qp = (Qp + step[:, np.newaxis] * Q[:, t]) / total[:, np.newaxis]
        p /= total[:, np.newaxis]
    return p
