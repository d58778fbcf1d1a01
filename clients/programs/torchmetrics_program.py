"""torchmetrics: the mean opinion score of two sounds (DNSMOS), with stand-ins for its networks."""

from __future__ import annotations

import torch
from torchmetrics.functional.audio import dnsmos

from programs.sounds import make_bursts
from programs.stand_ins import save_mean_opinion_scores

RATE = 16_000


def run() -> dict[str, object]:
    dnsmos.DNSMOS_DIR = save_mean_opinion_scores()
    sounds = torch.from_numpy(make_bursts(24, RATE)).reshape(2, -1)
    scores = dnsmos.deep_noise_suppression_mean_opinion_score
    return {
        "personalized": scores(sounds, RATE, True, num_threads=1).tolist(),
        "resampled": scores(sounds[0], 8_000, False, cache_session=False).tolist(),
    }
