"""Small random networks in the place of the models that clients download, with their inputs and outputs."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import sardonyx as sx

FOLDER = Path(tempfile.gettempdir()) / "sardonyx-client-models"
Floats = NDArray[np.float32]


def weights(seed: int, *shape: int) -> Floats:
    """Normal numbers of a spread that keeps activations near one."""
    spread = 1 / np.sqrt(np.prod(shape[1:]) if len(shape) > 2 else shape[0])
    numbers: Floats = (np.random.default_rng(seed).standard_normal(shape) * spread).astype(np.float32)
    return numbers


def save(model: sx.Model, name: str) -> str:
    """The path of the model, written for readers of the IR of their time."""
    path = FOLDER / name
    path.parent.mkdir(parents=True, exist_ok=True)
    sx.save(model, path)
    return str(path)


def save_segmentation() -> str:
    """A picture [1, 3, 320, 320] to a mask [1, 1, 320, 320], as U2-Net."""
    b = sx.Builder(opset=17)
    x = b.input("input.1", "float32", [1, 3, 320, 320])
    y = b.Relu(b.Conv(x, weights(0, 8, 3, 3, 3), strides=[2, 2], pads=[1, 1, 1, 1]))
    y = b.Relu(b.Conv(y, weights(1, 8, 8, 3, 3), pads=[1, 1, 1, 1]))
    y = b.Resize(y, None, np.array([1, 1, 2, 2], np.float32), mode="linear")
    return save(b.model(mask=b.Sigmoid(b.Conv(y, weights(2, 1, 8, 1, 1)))), "u2netp.onnx")


def save_spectrogram() -> str:
    """Sound [1, samples] to [1, 1, frames, 32], with a frame for each 160 samples but the last three."""
    b = sx.Builder(opset=17)
    sound = b.input("input", "float32", [1, "samples"])
    y = b.Conv(b.Unsqueeze(sound, [1]), weights(3, 32, 1, 640), strides=[160])
    return save(
        b.model(output=b.Unsqueeze(b.Transpose(b.Abs(y), perm=[0, 2, 1]), [1])), "melspectrogram.onnx"
    )


def save_speech_embedding() -> str:
    """Windows [N, 76, 32, 1] of a spectrogram to [N, 1, 1, 96]."""
    b = sx.Builder(opset=17)
    x = b.input("input_1", "float32", ["N", 76, 32, 1])
    y = b.Tanh(b.Flatten(x) @ weights(4, 76 * 32, 96))
    return save(b.model(embedding=b.Reshape(y, [-1, 1, 1, 96])), "embedding.onnx")


def save_wake_word() -> str:
    """Embeddings [1, 16, 96] to the probability [1, 1] of a word."""
    b = sx.Builder(opset=17)
    x = b.input("x", "float32", [1, 16, 96])
    y = b.Relu(b.Flatten(x) @ weights(5, 16 * 96, 32)) @ weights(6, 32, 1)
    return save(b.model(score=b.Sigmoid(y)), "hello.onnx")


def save_face_recognition() -> str:
    """Faces [N, 3, 112, 112] to embeddings [N, 512]."""
    b = sx.Builder(opset=17)
    x = b.input("input.1", "float32", ["N", 3, 112, 112])
    y = b.Conv(x, weights(7, 16, 3, 3, 3), strides=[2, 2], pads=[1, 1, 1, 1])
    y = b.PRelu(y, np.full((16, 1, 1), 0.25, np.float32))
    y = b.Relu(b.Conv(y, weights(8, 32, 16, 3, 3), strides=[4, 4]))
    y = b.Flatten(b.AveragePool(y, kernel_shape=[3, 3], strides=[3, 3]))
    return save(b.model(embedding=b.Gemm(y, weights(9, 32 * 4 * 4, 512))), "face.onnx")


def save_text_embedding(words: int) -> str:
    """Numbers of words, their mask and kinds [N, S] to [N, S, 32], by one layer of attention."""
    b = sx.Builder(opset=17)
    ids, mask, kinds = (
        b.input(n, "int64", ["N", "S"]) for n in ("input_ids", "attention_mask", "token_type_ids")
    )
    x = b.Gather(weights(10, words, 32), ids) + b.Gather(weights(11, 2, 32), kinds)
    q, k, v = (x @ weights(12 + i, 32, 32) for i in range(3))
    bias = (b.Cast(b.Unsqueeze(mask, [1]), to="float32") - 1.0) * 10000.0
    scores = b.Softmax(q @ b.Transpose(k, perm=[0, 2, 1]) * 0.2 + bias, axis=-1)
    y = b.LayerNormalization(x + scores @ v, np.ones(32, np.float32), axis=-1)
    return save(b.model(last_hidden_state=y), "text.onnx")


def save_speech_synthesis(symbols: int) -> str:
    """Phonemes [1, S], a style [1, 256] and a speed [1] to a sound [600 S]."""
    b = sx.Builder(opset=17)
    tokens = b.input("tokens", "int64", [1, "S"])
    style, speed = b.input("style", "float32", [1, 256]), b.input("speed", "float32", [1])
    x = b.Gather(weights(15, symbols, 64), tokens) + style @ weights(16, 256, 64)
    y, _, _ = b.LSTM(
        b.Transpose(x, perm=[1, 0, 2]),
        weights(17, 1, 128, 64),
        weights(18, 1, 128, 32),
        hidden_size=32,
        outputs=3,
    )
    sound = b.Tanh(b.Reshape(y, [0, -1]) @ weights(19, 32, 600) / speed)
    return save(b.model(audio=b.Reshape(sound, [-1])), "speech.onnx")


def save_mean_opinion_scores() -> str:
    """The folder of DNSMOS: sounds [N, 144160] to three scores, and their spectrograms [N, 900, 120] to one."""
    for folder in ("DNSMOS", "pDNSMOS"):
        b = sx.Builder(opset=18)
        sound = b.input("input_1", "float32", ["N", 144_160])
        y = b.Relu(b.Conv(b.Unsqueeze(sound, [1]), weights(20, 16, 1, 320), strides=[160]))
        y = b.ReduceMean(y, [2], keepdims=0) @ weights(21, 16, 3)
        save(b.model(scores=b.Sigmoid(y) * 4.0 + 1.0), f"{folder}/sig_bak_ovr.onnx")
    b = sx.Builder(opset=18)
    x = b.input("input_1", "float32", ["N", 900, 120])
    y = b.ReduceMean(b.Relu(x @ weights(22, 120, 16)), [1], keepdims=0) @ weights(23, 16, 1)
    save(b.model(score=b.Sigmoid(y) * 4.0 + 1.0), "DNSMOS/model_v8.onnx")
    return str(FOLDER)
