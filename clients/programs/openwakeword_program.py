"""openwakeword: the probability of a word in each frame of five seconds of sound, with stand-ins for its three networks."""

from __future__ import annotations

import numpy as np
from openwakeword.model import Model

from programs.sounds import make_bursts
from programs.stand_ins import save_spectrogram, save_speech_embedding, save_wake_word


def run() -> dict[str, object]:
    np.random.seed(0)  # the client begins with random noise
    model = Model(
        wakeword_models=[save_wake_word()],
        inference_framework="onnx",
        melspec_model_path=save_spectrogram(),
        embedding_model_path=save_speech_embedding(),
    )
    sound = (make_bursts(5, 16_000) * 20_000).astype(np.int16)
    frames = [model.predict(sound[i : i + 1280]) for i in range(0, len(sound) - 1280, 1280)]
    return {"scores": [float(frame["hello"]) for frame in frames]}
