"""onnx-asr: features of speech by every preprocessor that its wheel holds, and resampled sounds."""

from __future__ import annotations

import numpy as np
from onnx_asr.preprocessors.preprocessor import OnnxPreprocessor
from onnx_asr.preprocessors.resampler import Resampler

from programs.sounds import make_bursts

PREPROCESSORS = ("gigaam_v2", "gigaam_v3", "kaldi", "nemo80", "nemo128", "whisper80", "whisper128")
RATES = (8_000, 22_050, 44_100, 48_000)


def run() -> dict[str, object]:
    sound = make_bursts(3, 16_000)[None]
    lengths = np.array([sound.shape[1] - 1000], np.int64)
    answers: dict[str, object] = {}
    for name in (*PREPROCESSORS, *(f"{name}_conv" for name in PREPROCESSORS)):
        features, count = OnnxPreprocessor(name, {})(sound, lengths)
        answers[name], answers[f"{name} length"] = features.tolist(), count.tolist()
    resample = Resampler(16_000, {})
    for rate in RATES:
        sound = make_bursts(1, rate)[None]
        resampled, count = resample(sound, np.array([sound.shape[1]], np.int64), rate)
        answers[f"from {rate}"], answers[f"from {rate} length"] = resampled.tolist(), count.tolist()
    return answers
