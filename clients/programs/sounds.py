"""Sounds that the programs analyse: tones, noise and syllable-like bursts, from a fixed seed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Sound = NDArray[np.float32]


def make_bursts(seconds: float, rate: int) -> Sound:
    """Voice-like bursts with pauses: harmonics of a gliding pitch under an envelope, in a little noise."""
    generator = np.random.default_rng(7)
    time = np.arange(int(seconds * rate)) / rate
    pitch = 140 + 30 * np.sin(2 * np.pi * 0.7 * time)
    phase = 2 * np.pi * np.cumsum(pitch) / rate
    voice = sum(np.sin(k * phase) / k for k in range(1, 20))
    envelope = np.clip(np.sin(2 * np.pi * 3 * time), 0, 1) * (np.sin(2 * np.pi * 0.25 * time) > -0.2)
    return (0.2 * voice * envelope + 0.002 * generator.standard_normal(len(time))).astype(np.float32)


def make_chords(seconds: float, rate: int) -> Sound:
    """Three chords of decaying partials."""
    time = np.arange(int(seconds * rate)) / rate
    sound = np.zeros(len(time))
    for start, notes in ((0.1, (60, 64, 67)), (seconds / 3, (65, 69, 72)), (2 * seconds / 3, (67, 71, 74))):
        since = time - start
        decay = np.where(since >= 0, np.exp(-2 * np.maximum(since, 0)), 0)
        for note in notes:
            frequency = 440 * 2 ** ((note - 69) / 12)
            sound += sum(decay * np.sin(2 * np.pi * k * frequency * time) / k for k in (1, 2, 3))
    return (sound / 12).astype(np.float32)
