"""silero-vad: the speech in twenty seconds of sound, and the probability of each chunk."""

from __future__ import annotations

import torch
from silero_vad import get_speech_timestamps, load_silero_vad

from programs.sounds import make_bursts

RATE = 16_000


def run() -> dict[str, object]:
    torch.set_num_threads(1)
    model = load_silero_vad(onnx=True)
    sound = torch.from_numpy(make_bursts(20, RATE))
    speech = get_speech_timestamps(sound, model, threshold=0.2, sampling_rate=RATE)
    model.reset_states()
    probabilities = [float(model(chunk, RATE)) for chunk in sound[: 512 * 100].split(512)]
    return {"speech": speech, "probabilities": probabilities}
