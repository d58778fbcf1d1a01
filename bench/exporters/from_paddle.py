# /// script
# dependencies = ["paddlepaddle==3.0.0", "paddle2onnx==2.0.1", "setuptools"]
# ///
"""Small random networks of PaddlePaddle, exported by paddle2onnx."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import paddle
from exports import export_models, normal
from paddle import nn


def cnn() -> Any:
    layers = [
        nn.Conv2D(3, 32, 3, 2, 1),
        nn.BatchNorm2D(32),
        nn.Hardswish(),
        nn.Conv2D(32, 32, 3, 1, 1, groups=32),
    ]
    head = [nn.Conv2D(32, 64, 1), nn.Hardsigmoid(), nn.AdaptiveAvgPool2D(1), nn.Flatten(), nn.Linear(64, 10)]
    return nn.Sequential(*layers, *head)


class Recognizer(nn.Layer):  # type: ignore[misc]
    """Columns of an image, read by a bidirectional LSTM."""

    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2D(3, 32, 3, [4, 2], 1), nn.ReLU(), nn.Conv2D(32, 64, 3, [8, 2], 1)
        )
        self.lstm, self.head = nn.LSTM(64, 48, direction="bidirect"), nn.Linear(96, 97)

    def forward(self, image: Any) -> Any:
        x = self.features(image).squeeze(2).transpose([0, 2, 1])
        return nn.functional.softmax(self.head(self.lstm(x)[0]), axis=2)


def encoder() -> Any:
    layer = nn.TransformerEncoderLayer(128, 4, 512, dropout=0.0, activation="gelu")
    return nn.TransformerEncoder(layer, 2)


NETWORKS: dict[str, tuple[Callable[[], Any], Any]] = {
    "CNN": (cnn, normal(1, 3, 96, 96)),
    "recognizer": (Recognizer, normal(1, 3, 32, 160)),
    "transformer": (encoder, normal(1, 64, 128)),
}


def export(name: str, path: Path) -> Mapping[str, Any]:
    paddle.seed(0)
    make, x = NETWORKS[name]
    model = make()
    model.eval()
    spec = [paddle.static.InputSpec(x.shape, "float32", "x")]
    paddle.onnx.export(model, str(path.with_suffix("")), input_spec=spec, opset_version=16)
    return {"x": x}


if __name__ == "__main__":
    export_models({f"paddle2onnx, {name}": partial(export, name) for name in NETWORKS})
