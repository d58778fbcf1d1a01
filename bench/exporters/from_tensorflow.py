# /// script
# dependencies = ["tensorflow-cpu==2.19.1", "tf2onnx==1.17.0", "tf-keras==2.19.0"]
# ///
"""Functions of TensorFlow, exported by tf2onnx."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import tensorflow as tf
import tf2onnx
from exports import export_models, normal


def weights(*shape: int, seed: int) -> Any:
    return tf.constant(normal(*shape, seed=seed) * 0.1)


def cnn(x: Any) -> Any:
    """x: [1, 96, 96, 3]."""
    x = tf.nn.relu6(tf.nn.conv2d(x, weights(3, 3, 3, 32, seed=1), 2, "SAME"))
    x = tf.nn.depthwise_conv2d(x, weights(3, 3, 32, 1, seed=2), [1, 1, 1, 1], "SAME")
    x = tf.nn.conv2d(x, weights(1, 1, 32, 64, seed=3), 1, "VALID")
    x = tf.image.resize(tf.nn.max_pool2d(x, 3, 2, "SAME"), [32, 32])
    return tf.nn.softmax(tf.reduce_mean(x, [1, 2]) @ weights(64, 10, seed=4))


def recurrence(x: Any) -> Any:
    """x: [1, 50, 40]; a tf.while_loop over an LSTM cell."""
    kernel, bias = weights(40 + 64, 4 * 64, seed=5), weights(256, seed=6)
    steps = tf.transpose(x, [1, 0, 2])
    collected = tf.TensorArray(tf.float32, size=50, element_shape=(1, 64))

    def step(t: Any, h: Any, c: Any, results: Any) -> Any:
        i, g, f, o = tf.split(tf.concat([steps[t], h], 1) @ kernel + bias, 4, axis=1)
        c = tf.sigmoid(f + 1.0) * c + tf.sigmoid(i) * tf.tanh(g)
        h = tf.sigmoid(o) * tf.tanh(c)
        return t + 1, h, c, results.write(t, h)

    zero = tf.zeros([1, 64])
    *_, results = tf.while_loop(lambda t, *_: t < 50, step, (0, zero, zero, collected))
    return tf.transpose(results.stack(), [1, 0, 2])


def detector(x: Any) -> Any:
    """x: [1, 128, 128, 3]; boxes that remain after the suppression of overlapping ones."""
    x = tf.nn.relu(tf.nn.conv2d(x, weights(3, 3, 3, 16, seed=7), 4, "SAME"))
    x = tf.nn.conv2d(x, weights(3, 3, 16, 6, seed=8), 1, "SAME")
    flat = tf.reshape(x, [-1, 6])
    corners = flat[:, :2]
    boxes = tf.concat([corners, corners + tf.exp(flat[:, 2:4])], 1)
    scores = tf.reduce_max(tf.sigmoid(flat[:, 4:]), 1)
    chosen = tf.image.non_max_suppression(boxes, scores, 50, 0.5, 0.3)
    return tf.gather(boxes, chosen)


def attention(x: Any) -> Any:
    """x: [1, 64, 128]."""
    q, k, v = (tf.einsum("bld,dhs->bhls", x, weights(128, 4, 32, seed=s)) for s in (9, 10, 11))
    shares = tf.nn.softmax(tf.einsum("bhqs,bhks->bhqk", q, k) * 32**-0.5)
    joined = tf.einsum("bhqk,bhks->bqhs", shares, v)
    x += tf.einsum("bqhs,hsd->bqd", joined, weights(4, 32, 128, seed=12))
    mean, variance = tf.nn.moments(x, -1, keepdims=True)
    normed = (x - mean) * tf.math.rsqrt(variance + 1e-6)
    return x + tf.nn.gelu(normed @ weights(128, 512, seed=13), approximate=True) @ weights(512, 128, seed=14)


FUNCTIONS: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "CNN": (cnn, normal(1, 96, 96, 3)),
    "LSTM as a loop": (recurrence, normal(1, 50, 40)),
    "detector": (detector, normal(1, 128, 128, 3)),
    "transformer block": (attention, normal(1, 64, 128)),
}


def export(name: str, path: Path) -> Mapping[str, Any]:
    function, x = FUNCTIONS[name]
    signature = [tf.TensorSpec(x.shape, tf.float32, name="x")]
    tf2onnx.convert.from_function(tf.function(function), signature, opset=17, output_path=str(path))
    return {"x": x}


if __name__ == "__main__":
    export_models({f"tf2onnx, {name}": partial(export, name) for name in FUNCTIONS})
