"""The five models in onnxscript."""

# Annotations are read by onnxscript when a function is defined, so they are not postponed.
import onnx
from onnxscript import FLOAT, INT64, STRING, graph, script, values
from onnxscript import opset21 as op

from building import weights as w

ml = values.Opset("ai.onnx.ml", 3)


def tensor(value, name):
    return onnx.numpy_helper.from_array(value, name)


W1, B1, W2, B2 = (tensor(value, f"t{i}") for i, value in enumerate((w.W1, w.B1, w.W2, w.B2)))
KERNEL, SCALE, SHIFT = tensor(w.KERNEL, "kernel"), tensor(w.SCALE, "scale"), tensor(w.SHIFT, "shift")
MEAN, VARIANCE = tensor(w.MEAN, "mean"), tensor(w.VARIANCE, "variance")
WQ, WK, WV, WO = (tensor(value, f"w{i}") for i, value in enumerate((w.WQ, w.WK, w.WV, w.WO)))
GX, GH, BIAS = tensor(w.WX, "wx"), tensor(w.WH, "wh"), tensor(w.BIAS, "bias")
OFFSET, FACTOR = w.OFFSET.tolist(), w.FACTOR.tolist()
COEFFICIENTS, INTERCEPTS = w.COEFFICIENTS.reshape(-1).tolist(), w.INTERCEPTS.tolist()


@script()
def mlp(x: FLOAT["N", 64]) -> FLOAT["N", 10]:
    hidden = op.Relu(op.MatMul(x, op.Constant(value=W1)) + op.Constant(value=B1))
    return op.Softmax(op.MatMul(hidden, op.Constant(value=W2)) + op.Constant(value=B2), axis=-1)


@script()
def cnn(x: FLOAT["N", 8, "H", "W"]) -> FLOAT["N", 8]:
    y = op.Conv(x, op.Constant(value=KERNEL), pads=[1, 1, 1, 1])
    y = op.BatchNormalization(
        y,
        op.Constant(value=SCALE),
        op.Constant(value=SHIFT),
        op.Constant(value=MEAN),
        op.Constant(value=VARIANCE),
    )
    return op.Flatten(op.GlobalAveragePool(op.Relu(y) + x))


@script()
def heads(x, weights):
    return op.Transpose(op.Reshape(op.MatMul(x, weights), [0, 1, 4, 8]), perm=[0, 2, 1, 3])


@script()
def attention(x: FLOAT["B", 1, 32], past_k: FLOAT["B", 4, "P", 8], past_v: FLOAT["B", 4, "P", 8]):
    k = op.Concat(past_k, heads(x, op.Constant(value=WK)), axis=2)
    v = op.Concat(past_v, heads(x, op.Constant(value=WV)), axis=2)
    scores = (
        op.MatMul(heads(x, op.Constant(value=WQ)), op.Transpose(k, perm=[0, 1, 3, 2])) / 2.8284271247461903
    )
    mixed = op.Transpose(op.MatMul(op.Softmax(scores, axis=-1), v), perm=[0, 2, 1, 3])
    y = op.MatMul(op.Reshape(mixed, [0, 1, 32]), op.Constant(value=WO))
    return y, k, v


@script()
def lstm(x: FLOAT["T", "B", 16], h0: FLOAT["B", 8], c0: FLOAT["B", 8]):
    wx, wh, bias = op.Constant(value=GX), op.Constant(value=GH), op.Constant(value=BIAS)

    @graph()
    def step(h: FLOAT["B", 8], c: FLOAT["B", 8], xt: FLOAT["B", 16]):
        gates = op.MatMul(xt, wx) + op.MatMul(h, wh) + bias
        i, f, o, g = op.Split(gates, axis=1, num_outputs=4)
        next_c = op.Sigmoid(f) * c + op.Sigmoid(i) * op.Tanh(g)
        next_h = op.Sigmoid(o) * op.Tanh(next_c)
        return next_h, next_c, op.Identity(next_h)

    h, c, y = op.Scan(h0, c0, x, body=step, num_scan_inputs=1)
    return y, h


@script()
def pipeline(x: FLOAT["N", 3], color: STRING["N", 1]) -> (INT64["N"], FLOAT["N", 3]):
    scaled = ml.Scaler(x, offset=OFFSET, scale=FACTOR)
    colors = op.Squeeze(ml.OneHotEncoder(color, cats_strings=["red", "green", "blue"]), [1])
    label, scores = ml.LinearClassifier(
        op.Concat(scaled, colors, axis=1), coefficients=COEFFICIENTS, intercepts=INTERCEPTS,
        classlabels_ints=[0, 1, 2], post_transform="SOFTMAX",
    )  # fmt: skip
    return label, scores
