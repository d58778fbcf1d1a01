"""ImageDecoder: the pixels of an encoded image.

Spec: ai.onnx ImageDecoder-20.  Pillow decodes; its JPEG decoder, libjpeg-turbo, smooths chroma as the text asks for.
"""

from __future__ import annotations

import io
import struct
import warnings

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError, LimitError
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.types import TensorType
from sardonyx._src.ops.api import Call, Operator, claim
from sardonyx._src.ops.inference import Inference, Result

op = Operator("ImageDecoder", tolerance="rounding")

FORMATS = ("BMP", "JPEG", "JPEG2000", "TIFF", "PNG", "WEBP", "PPM")
CHANNELS = {"RGB": 3, "BGR": 3, "Grayscale": 1}
DAMAGE = (
    OSError,
    SyntaxError,
    ValueError,
    EOFError,
    IndexError,
    KeyError,
    TypeError,
    struct.error,
    OverflowError,
)


@op.infer(20)
def infer(t: Inference) -> Result:
    if t.rank(0) not in (None, 1):
        t.fail(f"the stream has rank {t.rank(0)}, a vector of bytes is wanted")
    channels = CHANNELS.get(str(t.attributes["pixel_format"]))
    return TensorType(DataType.UINT8, (t.new_dim(), t.new_dim(), channels))


@op.eval(20)
def eval_20(encoded_stream: Array, *, call: Call, pixel_format: str) -> Array:
    """encoded_stream: [bytes] uint8, result: [H, W, channels] uint8, [0, 0, channels] for what cannot be decoded.

    Raises EvaluationError where Pillow is not installed, LimitError for more pixels than it or the run allows.
    """
    channels = CHANNELS.get(pixel_format)
    if channels is None:
        raise EvaluationError(f"pixel_format is {pixel_format!r}, not one of {', '.join(CHANNELS)}")
    try:
        from PIL import Image
    except ImportError as error:
        raise EvaluationError("ImageDecoder needs Pillow: pip install 'sardonyx[image]'") from error
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore"
        )  # of metadata that Pillow finds odd, and of sizes, which have a limit here
        try:
            with Image.open(io.BytesIO(encoded_stream.tobytes()), formats=FORMATS) as image:
                claim(call, (image.height, image.width, channels), np.uint8, "the decoded image")
                pixels = np.asarray(image.convert("L" if channels == 1 else "RGB"))
        except Image.DecompressionBombError as error:
            raise LimitError(str(error), limit="PIL.Image.MAX_IMAGE_PIXELS") from error
        except DAMAGE:
            return np.zeros((0, 0, channels), np.uint8)
    if pixel_format == "BGR":
        return np.ascontiguousarray(pixels[..., ::-1])
    return pixels.reshape(*pixels.shape[:2], channels)
