"""basic-pitch: the notes of three chords."""

from __future__ import annotations

import tempfile
import wave
from pathlib import Path

import numpy as np
from basic_pitch import ICASSP_2022_MODEL_PATH
from basic_pitch.inference import predict

from programs.sounds import make_chords

RATE = 22_050


def run() -> dict[str, object]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "chords.wav"
        with wave.open(str(path), "wb") as file:
            file.setnchannels(1)
            file.setsampwidth(2)
            file.setframerate(RATE)
            file.writeframes((make_chords(6, RATE) * 32767).astype("<i2").tobytes())
        outputs, _, notes = predict(path, Path(str(ICASSP_2022_MODEL_PATH)).with_suffix(".onnx"))
    answers: dict[str, object] = {name: np.asarray(value).tolist() for name, value in outputs.items()}
    answers["notes"] = sorted([float(start), float(end), int(pitch)] for start, end, pitch, *_ in notes)
    return answers
