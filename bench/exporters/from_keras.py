# /// script
# dependencies = ["keras==3.15.1", "tensorflow-cpu==2.21.0", "tf2onnx==1.17.0"]
# ///
"""Small random networks of Keras, exported by its own `Model.export` over TensorFlow."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
from exports import export_models, normal, tokens
from keras import layers


def separable_cnn() -> Any:
    image = layers.Input((96, 96, 3), batch_size=1, name="x")
    x = layers.Conv2D(32, 3, strides=2, padding="same", activation="relu")(image)
    for filters in (64, 128):
        x = layers.SeparableConv2D(filters, 3, padding="same", use_bias=False)(x)
        x = layers.ReLU(6.0)(layers.BatchNormalization()(x))
        x = layers.MaxPooling2D()(x)
    x = layers.GlobalAveragePooling2D()(x)
    return keras.Model(image, layers.Dense(10, activation="softmax")(x))


def text_lstm() -> Any:
    ids = layers.Input((80,), batch_size=1, dtype="int32", name="x")
    x = layers.Embedding(5000, 64)(ids)
    x = layers.Bidirectional(layers.LSTM(64, return_sequences=True))(x)
    return keras.Model(ids, layers.Dense(1, activation="sigmoid")(layers.GRU(32)(x)))


def gelu(x: Any) -> Any:
    """The approximation, since tf2onnx writes an operator that does not exist for the exact one."""
    return keras.ops.gelu(x, approximate=True)


def transformer() -> Any:
    x = inputs = layers.Input((64, 128), batch_size=1, name="x")
    for _ in range(2):
        normed = layers.LayerNormalization()(x)
        x = layers.Add()([x, layers.MultiHeadAttention(4, 32)(normed, normed)])
        inner = layers.Dense(512, activation=gelu)(layers.LayerNormalization()(x))
        x = layers.Add()([x, layers.Dense(128)(inner)])
    return keras.Model(inputs, x)


def unet() -> Any:
    image = layers.Input((64, 64, 3), batch_size=1, name="x")
    high = layers.Conv2D(16, 3, padding="same", activation="swish")(image)
    low = layers.Conv2D(32, 3, strides=2, padding="same", activation="swish")(high)
    up = layers.Conv2DTranspose(16, 3, strides=2, padding="same")(low)
    joined = layers.Concatenate()([high, up])
    return keras.Model(image, layers.Conv2D(4, 1, activation="softmax")(joined))


MODELS: dict[str, tuple[Callable[[], Any], Any]] = {
    "separable CNN": (separable_cnn, normal(1, 96, 96, 3)),
    "LSTM and GRU": (text_lstm, tokens(1, 80, most=5000).astype("int32")),
    "transformer": (transformer, normal(1, 64, 128)),
    "U-net": (unet, normal(1, 64, 64, 3)),
}


def export(name: str, path: Path) -> Mapping[str, Any]:
    keras.utils.set_random_seed(0)
    make, x = MODELS[name]
    model = make()
    model(x)
    model.export(str(path), format="onnx", verbose=False)
    return {"x": x}


if __name__ == "__main__":
    export_models({f"keras, {name}": partial(export, name) for name in MODELS})
