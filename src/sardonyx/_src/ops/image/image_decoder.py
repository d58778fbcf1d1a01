"""ImageDecoder: the pixels of an encoded image.

Spec: ai.onnx ImageDecoder-20.  Pillow decodes the image; its JPEG decoder, libjpeg-turbo, upsamples chroma smoothly, as
the text requires.
"""

from __future__ import annotations

import io
import struct
import warnings

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError, LimitError
from sardonyx._src.ir import Array, TensorType
from sardonyx._src.ops.api import Operator, RunContext, check_result_bytes
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.traits import enum_values

IMAGE_FORMATS = ("BMP", "JPEG", "JPEG2000", "TIFF", "PNG", "WEBP", "PPM")
CHANNELS = {"RGB": 3, "BGR": 3, "Grayscale": 1}

op = Operator("ImageDecoder", tolerance="rounding", enum_attributes={"pixel_format": enum_values(*CHANNELS)})
DECODING_ERRORS = (  # what Pillow raises for broken data
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
def infer(inference: Inference) -> Result:
    if inference.rank(0) not in (None, 1):
        inference.fail(f"the stream must be a vector of bytes; got rank {inference.rank(0)}")
    channels = CHANNELS.get(str(inference.attributes["pixel_format"]))
    return TensorType(DataType.UINT8, (inference.new_dim(), inference.new_dim(), channels))


@op.eval(20)
def eval_20(encoded_stream: Array, *, context: RunContext, pixel_format: str) -> Array:
    """encoded_stream: [bytes] uint8, result: [H, W, channels] uint8, [0, 0, channels] for undecodable data.

    Raises EvaluationError where Pillow is not installed, LimitError for more pixels than it or the run allows.
    """
    channels = CHANNELS.get(pixel_format)
    if channels is None:
        raise EvaluationError(f"pixel_format must be one of {', '.join(CHANNELS)}; got {pixel_format!r}")
    try:
        from PIL import Image
    except ImportError as error:
        raise EvaluationError("ImageDecoder needs Pillow: pip install 'sardonyx[image]'") from error
    with warnings.catch_warnings():
        # Pillow warns about odd metadata, and about large sizes, which are checked below.
        warnings.simplefilter("ignore")
        try:
            with Image.open(io.BytesIO(encoded_stream.tobytes()), formats=IMAGE_FORMATS) as image:
                check_result_bytes(
                    context, (image.height, image.width, channels), np.uint8, "the decoded image"
                )
                pixels = np.asarray(image.convert("L" if channels == 1 else "RGB"))
        except Image.DecompressionBombError as error:
            raise LimitError(str(error), limit="PIL.Image.MAX_IMAGE_PIXELS") from error
        except DECODING_ERRORS:
            return np.zeros((0, 0, channels), np.uint8)
    if pixel_format == "BGR":
        return np.ascontiguousarray(pixels[..., ::-1])
    return pixels.reshape(*pixels.shape[:2], channels)
