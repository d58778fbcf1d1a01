"""kokoro-onnx: speech from phonemes in two voices, with a stand-in for Kokoro."""

from __future__ import annotations

import numpy as np
from kokoro_onnx import Kokoro

from programs.stand_ins import FOLDER, save_speech_synthesis

PHONEMES = "həlˈoʊ wˈɜːld. ðɪs ɪz ɐ tˈɛst!"


def run() -> dict[str, object]:
    path, voices = save_speech_synthesis(200), FOLDER / "voices.npz"
    rng = np.random.default_rng(0)
    np.savez(voices, one=rng.standard_normal((510, 1, 256)).astype(np.float32),
             two=rng.standard_normal((510, 1, 256)).astype(np.float32))  # fmt: skip
    kokoro = Kokoro(path, str(voices))
    answers: dict[str, object] = {}
    for voice, speed in (("one", 1.0), ("two", 1.5)):
        sound, rate = kokoro.create(PHONEMES, voice=voice, speed=speed, is_phonemes=True)
        answers[voice] = {"rate": rate, "length": len(sound), "sound": sound[::50].tolist()}
    return answers
