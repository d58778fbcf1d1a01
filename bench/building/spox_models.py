"""The five models in spox."""

from __future__ import annotations

import numpy as np
import onnx
import spox.opset.ai.onnx.ml.v3 as ml
import spox.opset.ai.onnx.v21 as op
from spox import Tensor, Var, argument, build

from building import weights as w


def mlp() -> onnx.ModelProto:
    x = argument(Tensor(np.float32, ("N", 64)))
    hidden = op.relu(op.add(op.matmul(x, op.const(w.W1)), op.const(w.B1)))
    y = op.softmax(op.add(op.matmul(hidden, op.const(w.W2)), op.const(w.B2)), axis=-1)
    return build({"x": x}, {"y": y})


def cnn() -> onnx.ModelProto:
    x = argument(Tensor(np.float32, ("N", 8, "H", "W")))
    y = op.conv(x, op.const(w.KERNEL), pads=[1, 1, 1, 1])
    # batch_normalization of this release always has the three outputs of training, which inference refuses.
    factor = w.SCALE / np.sqrt(w.VARIANCE + np.float32(1e-5))
    columns = (factor[:, None, None], (w.SHIFT - w.MEAN * factor)[:, None, None])
    y = op.add(op.mul(y, op.const(columns[0])), op.const(columns[1]))
    y = op.flatten(op.global_average_pool(op.add(op.relu(y), x)))
    return build({"x": x}, {"y": y})


def attention() -> onnx.ModelProto:
    x = argument(Tensor(np.float32, ("B", 1, 32)))
    past_k = argument(Tensor(np.float32, ("B", 4, "P", 8)))
    past_v = argument(Tensor(np.float32, ("B", 4, "P", 8)))

    def heads(weights: np.ndarray) -> Var:
        split = op.const(np.array([0, 1, 4, 8]))
        return op.transpose(op.reshape(op.matmul(x, op.const(weights)), split), perm=[0, 2, 1, 3])

    k = op.concat([past_k, heads(w.WK)], axis=2)
    v = op.concat([past_v, heads(w.WV)], axis=2)
    scores = op.matmul(heads(w.WQ), op.transpose(k, perm=[0, 1, 3, 2]))
    scores = op.div(scores, op.const(np.float32(8**0.5)))
    mixed = op.transpose(op.matmul(op.softmax(scores, axis=-1), v), perm=[0, 2, 1, 3])
    y = op.matmul(op.reshape(mixed, op.const(np.array([0, 1, 32]))), op.const(w.WO))
    return build({"x": x, "past_k": past_k, "past_v": past_v}, {"y": y, "k": k, "v": v})


def lstm() -> onnx.ModelProto:
    x = argument(Tensor(np.float32, ("T", "B", 16)))
    h0 = argument(Tensor(np.float32, ("B", 8)))
    c0 = argument(Tensor(np.float32, ("B", 8)))

    axis = op.const(np.array([0]))

    def step(t: Var, condition: Var, h: Var, c: Var) -> list[Var]:
        gates = op.add(
            op.matmul(op.squeeze(op.gather(x, t), axis), op.const(w.WX)), op.matmul(h, op.const(w.WH))
        )
        i, f, o, g = op.split(op.add(gates, op.const(w.BIAS)), axis=1, num_outputs=4)
        c = op.add(op.mul(op.sigmoid(f), c), op.mul(op.sigmoid(i), op.tanh(g)))
        h = op.mul(op.sigmoid(o), op.tanh(c))
        return [condition, h, c, op.identity(h)]

    steps = op.squeeze(op.shape(x, end=1))
    h, _, y = op.loop(steps, v_initial=[h0, c0], body=step)
    return build({"x": x, "h0": h0, "c0": c0}, {"y": y, "h": h})


def pipeline() -> onnx.ModelProto:
    x = argument(Tensor(np.float32, ("N", 3)))
    color = argument(Tensor(np.str_, ("N", 1)))
    scaled = ml.scaler(x, offset=w.OFFSET, scale=w.FACTOR)
    hot = ml.one_hot_encoder(color, cats_strings=["red", "green", "blue"])
    colors = op.squeeze(hot, op.const(np.array([1])))
    label, scores = ml.linear_classifier(
        op.concat([scaled, colors], axis=1), coefficients=w.COEFFICIENTS.reshape(-1), intercepts=w.INTERCEPTS,
        classlabels_ints=[0, 1, 2], post_transform="SOFTMAX",
    )  # fmt: skip
    return build({"x": x, "color": color}, {"label": label, "scores": scores})
