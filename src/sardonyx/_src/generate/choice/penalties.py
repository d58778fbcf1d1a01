"""Logits of tokens that occurred before, lowered, and those that a bias changes."""

from __future__ import annotations

import numpy as np

from sardonyx._src.generate.choice.settings import Settings
from sardonyx._src.ir import Array


def apply_penalties(logits: Array, settings: Settings, prompt: Array, generated: Array) -> Array:
    """logits: [vocabulary] float64; prompt, generated: [length] tokens of one sequence.  Returns logits or a changed copy."""
    if settings.repetition_penalty != 1:
        seen = np.unique(np.concatenate([prompt, generated]))
        logits = logits.copy()
        before = logits[seen]
        penalty = settings.repetition_penalty
        logits[seen] = np.where(before > 0, before / penalty, before * penalty)
    if (settings.presence_penalty or settings.frequency_penalty) and generated.size:
        tokens, counts = np.unique(generated, return_counts=True)
        logits = logits.copy()
        logits[tokens] -= settings.presence_penalty + settings.frequency_penalty * counts
    if settings.logit_bias:
        logits = logits.astype(np.float64)
        logits[list(settings.logit_bias)] += list(settings.logit_bias.values())
    return logits
