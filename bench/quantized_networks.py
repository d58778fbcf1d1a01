"""Networks of the zoo that onnxruntime quantizes to 8 bits: in QDQ form, or with ranges that each run measures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from zoo.catalogue import ENTRIES, FOLDER, Feeds

CALIBRATION_SEEDS = (2, 3)


@dataclass(frozen=True)
class QuantizedNetwork:
    """A network of the zoo, quantized; make: writes the file, and raises ImportError without onnxruntime."""

    source: str
    file: str
    make: Callable[[str, Path], None]

    def path(self) -> Path:
        """The path of the file, which is made if it is missing."""
        path = FOLDER / self.file
        if not path.exists():
            self.make(self.source, path)
        return path

    def feeds(self) -> Feeds:
        return ENTRIES[self.source].feeds()


def quantize_static(source: str, path: Path) -> None:
    """QDQ form, uint8 times int8, scales per channel, calibrated on two random inputs."""
    from onnxruntime import quantization

    class Inputs(quantization.CalibrationDataReader):  # type: ignore[misc]  # untyped
        def __init__(self) -> None:
            self.feeds = iter([random_feeds(source, seed) for seed in CALIBRATION_SEEDS])

        def get_next(self) -> object:
            return next(self.feeds, None)

    quantization.quantize_static(
        ENTRIES[source].path(), path, Inputs(), quant_format=quantization.QuantFormat.QDQ, per_channel=True,
        activation_type=quantization.QuantType.QUInt8, weight_type=quantization.QuantType.QInt8,
    )  # fmt: skip


def quantize_dynamic(source: str, path: Path) -> None:
    """DynamicQuantizeLinear and MatMulInteger: weights in int8, activations in uint8 with the ranges of the run."""
    from onnxruntime import quantization

    quantization.quantize_dynamic(ENTRIES[source].path(), path, weight_type=quantization.QuantType.QInt8)


def random_feeds(source: str, seed: int) -> Feeds:
    """Inputs of a network other than those that are timed."""
    feeds, draw = ENTRIES[source].feeds(), np.random.default_rng(seed)
    return {name: draw.permuted(array.reshape(-1)).reshape(array.shape) for name, array in feeds.items()}


QUANTIZED = {
    "resnet50, QDQ": QuantizedNetwork("resnet50", "resnet50_qdq.onnx", quantize_static),
    "mobilenet_v2, QDQ": QuantizedNetwork("mobilenet_v2", "mobilenet_v2_qdq.onnx", quantize_static),
    "encoder_1x128, QDQ": QuantizedNetwork("encoder_1x128", "encoder_qdq.onnx", quantize_static),
    "encoder_1x128, dynamic": QuantizedNetwork("encoder_1x128", "encoder_dynamic.onnx", quantize_dynamic),
}
