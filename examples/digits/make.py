"""Build the digits example: train a small network on the UCI optical digits, write the model and both parts of the data.

The data are the 1,797 images of 8 by 8 pixels, values 0 to 16, that scikit-learn carries (UCI "Optical Recognition
of Handwritten Digits", CC BY 4.0).  Run once with scikit-learn installed:

    python examples/digits/make.py

writes `digits.onnx`, `train.npz` (1,437 images) and `test.npz` (360 images) to the folder of this file.  Everything is seeded;
training takes a few seconds.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import sardonyx as sx

HERE = Path(__file__).parent
HIDDEN = (128, 64)
TEST = 360  # images in the test split
EPOCHS = 120
Floats = NDArray[np.floating[Any]]
Ints = NDArray[np.int64]


def data() -> tuple[Floats, Ints, Floats, Ints]:
    """Images [n, 64] and labels [n] for training, then for the test."""
    from sklearn.datasets import load_digits

    images, labels = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(images))
    images, labels = images[order].astype(np.float32), labels[order].astype(np.int64)
    return images[TEST:], labels[TEST:], images[:TEST], labels[:TEST]


def shift(images: Floats, rng: np.random.Generator) -> Floats:
    """Every image shifted by up to one pixel in each direction, so that the network learns shapes, not positions."""
    square = np.pad(images.reshape(-1, 8, 8), ((0, 0), (1, 1), (1, 1)))
    result = np.empty((len(images), 8, 8), np.float32)
    down, right = rng.integers(0, 3, (2, len(images)))
    for i in range(len(images)):
        result[i] = square[i, down[i] : down[i] + 8, right[i] : right[i] + 8]
    return result.reshape(-1, 64)


def forward(x: Floats, weights: list[Floats]) -> list[Floats]:
    """The input of every layer, and the logits."""
    layers: list[Floats] = [x / 16]
    for i in range(0, len(weights), 2):
        y = layers[-1] @ weights[i] + weights[i + 1]
        layers.append(np.maximum(y, 0) if i + 2 < len(weights) else y)
    return layers


def gradients(x: Floats, labels: Ints, weights: list[Floats]) -> list[Floats]:
    """The gradient of the mean cross entropy with respect to every weight."""
    layers = forward(x, weights)
    odds = np.exp(layers[-1] - layers[-1].max(axis=1, keepdims=True))
    delta = odds / odds.sum(axis=1, keepdims=True)
    delta[np.arange(len(x)), labels] -= 1
    delta /= len(x)
    result: list[Floats] = []
    for i in range(len(weights) - 2, -1, -2):
        result = [layers[i // 2].T @ delta, delta.sum(axis=0), *result]
        delta = delta @ weights[i].T * (layers[i // 2] > 0)
    return result


def train(images: Floats, labels: Ints) -> list[Floats]:
    """Weights and biases trained by Adam with a decaying learning rate."""
    rng = np.random.default_rng(1)
    sizes = (64, *HIDDEN, 10)
    weights: list[Floats] = []
    for fan_in, fan_out in pairwise(sizes):
        spread = np.sqrt(2 / fan_in)
        weights += [
            rng.normal(0, spread, (fan_in, fan_out)).astype(np.float32),
            np.zeros(fan_out, np.float32),
        ]
    first = [np.zeros_like(w) for w in weights]
    second = [np.zeros_like(w) for w in weights]
    step = 0
    for epoch in range(EPOCHS):
        rate = 3e-3 * (1 - epoch / EPOCHS) + 1e-5
        moved, order = shift(images, rng), rng.permutation(len(images))
        for start in range(0, len(order), 64):
            batch = order[start : start + 64]
            step += 1
            for i, g in enumerate(gradients(moved[batch], labels[batch], weights)):
                first[i] = 0.9 * first[i] + 0.1 * g
                second[i] = 0.999 * second[i] + 0.001 * g * g
                scale = np.sqrt(second[i] / (1 - 0.999**step)) + 1e-8
                weights[i] = weights[i] - np.float32(rate) * first[i] / np.float32(1 - 0.9**step) / scale
    return weights


def model(weights: list[Floats]) -> sx.Model:
    """Images [N, 64] to class scores [N, 10] and digits [N]."""
    b = sx.Builder(opset=13, name="digits")
    x = b.input("image", sx.DataType.FLOAT, ["N", 64])
    y = b.Mul(x, b.constant("scale", np.float32(1 / 16)))
    for i in range(0, len(weights), 2):
        y = b.Gemm(y, b.constant(f"w{i // 2}", weights[i]), b.constant(f"b{i // 2}", weights[i + 1]))
        if i + 2 < len(weights):
            y = b.Relu(y)
    b.output(b.Softmax(y, axis=-1), "probability", sx.Builder.tensor(sx.DataType.FLOAT, ["N", 10]))
    b.output(b.ArgMax(y, axis=-1, keepdims=0), "digit", sx.Builder.tensor(sx.DataType.INT64, ["N"]))
    result = b.model(ir_version=8)
    result.doc = "Handwritten digits of 8 by 8 pixels, values 0 to 16, row by row."
    return result


def main() -> None:
    images, labels, test_images, test_labels = data()
    weights = train(images, labels)
    right = float((forward(test_images, weights)[-1].argmax(axis=1) == test_labels).mean())
    sx.save(model(weights), HERE / "digits.onnx")
    np.savez_compressed(HERE / "train.npz", image=images.astype(np.uint8), digit=labels.astype(np.uint8))
    np.savez_compressed(HERE / "test.npz", image=test_images, digit=test_labels)
    print(f"{len(images)} images learned, {right:.2%} of {len(test_labels)} others right")


if __name__ == "__main__":
    main()
