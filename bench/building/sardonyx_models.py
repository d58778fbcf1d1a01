"""The five models in Sardonyx."""

from __future__ import annotations

import sardonyx as sx
from building import weights as w


def mlp() -> sx.Model:
    b = sx.Builder(opset=21)
    x = b.input("x", "float32", ["N", 64])
    hidden = b.Relu(x @ w.W1 + w.B1)
    return b.model(y=b.Softmax(hidden @ w.W2 + w.B2, axis=-1))


def cnn() -> sx.Model:
    b = sx.Builder(opset=21)
    x = b.input("x", "float32", ["N", 8, "H", "W"])
    y = b.Conv(x, w.KERNEL, pads=[1, 1, 1, 1])
    y = b.BatchNormalization(y, w.SCALE, w.SHIFT, w.MEAN, w.VARIANCE)
    return b.model(y=b.Flatten(b.GlobalAveragePool(b.Relu(y) + x)))


def attention() -> sx.Model:
    b = sx.Builder(opset=21)
    x = b.input("x", "float32", ["B", 1, 32])
    past_k = b.input("past_k", "float32", ["B", 4, "P", 8])
    past_v = b.input("past_v", "float32", ["B", 4, "P", 8])

    def heads(weights):
        return b.Transpose(b.Reshape(x @ weights, [0, 1, 4, 8]), perm=[0, 2, 1, 3])

    k = b.Concat(past_k, heads(w.WK), axis=2)
    v = b.Concat(past_v, heads(w.WV), axis=2)
    scores = heads(w.WQ) @ b.Transpose(k, perm=[0, 1, 3, 2]) / 8**0.5
    mixed = b.Transpose(b.Softmax(scores, axis=-1) @ v, perm=[0, 2, 1, 3])
    return b.model(y=b.Reshape(mixed, [0, 1, 32]) @ w.WO, k=k, v=v)


def lstm() -> sx.Model:
    b = sx.Builder(opset=21)
    x = b.input("x", "float32", ["T", "B", 16])
    h0, c0 = b.input("h0", "float32", ["B", 8]), b.input("c0", "float32", ["B", 8])

    def step(t, condition, h, c):
        i, f, o, g = b.Split(x[t] @ w.WX + h @ w.WH + w.BIAS, axis=1, num_outputs=4)
        c = b.Sigmoid(f) * c + b.Sigmoid(i) * b.Tanh(g)
        h = b.Sigmoid(o) * b.Tanh(c)
        return True, h, c, h

    h, _, y = b.loop(step, h0, c0, trip_count=b.Squeeze(b.Shape(x, end=1)))
    return b.model(y=y, h=h)


def pipeline() -> sx.Model:
    b = sx.Builder(opset=21)
    ml = b.domain("ai.onnx.ml")
    x, color = b.input("x", "float32", ["N", 3]), b.input("color", "string", ["N", 1])
    scaled = ml.Scaler(x, offset=w.OFFSET, scale=w.FACTOR)
    colors = b.Squeeze(ml.OneHotEncoder(color, cats_strings=["red", "green", "blue"]), [1])
    label, scores = ml.LinearClassifier(
        b.Concat(scaled, colors, axis=1), coefficients=w.COEFFICIENTS.reshape(-1), intercepts=w.INTERCEPTS,
        classlabels_ints=[0, 1, 2], post_transform="SOFTMAX",
    )  # fmt: skip
    return b.model(label=label, scores=scores)
