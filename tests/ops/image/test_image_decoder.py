import io
import sys
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from cases import Case, assert_case, model_of
from ops.tensor.operator_facets import assert_contradiction, assert_refused, infer_types, make_inference
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import LimitError
from sardonyx._src.interp.interpreter import Interpreter
from sardonyx._src.ir import Array, TensorType
from sardonyx._src.ir.dims import symbol
from sardonyx._src.ops.api import RunLimits


def stream(data: bytes) -> Array:
    return np.frombuffer(data, np.uint8)


def u8(values: object) -> Array:
    return np.array(values, np.uint8)


# One row of two pixels, written out by hand.
PIXELS = bytes([1, 2, 3, 250, 251, 252])
PPM = b"P6 2 1 255\n" + PIXELS
PGM = b"P5 2 1 255\n" + bytes([7, 200])
PBM = b"P4 2 1\n" + bytes([0b10000000])  # black, then white
BMP_HEAD = b"BM" + (62).to_bytes(4, "little") + bytes(4) + (54).to_bytes(4, "little")
BMP_INFO = b"".join(
    n.to_bytes(k, "little") for n, k in ((40, 4), (2, 4), (1, 4), (1, 2), (24, 2), (0, 4), (8, 4))
)
BMP = BMP_HEAD + BMP_INFO + bytes(16) + bytes([3, 2, 1, 252, 251, 250, 0, 0])


def chunk(kind: bytes, data: bytes) -> bytes:
    return len(data).to_bytes(4, "big") + kind + data + zlib.crc32(kind + data).to_bytes(4, "big")


def png(width: int, data: bytes, color: int) -> bytes:
    """A PNG of one row of 8-bit samples."""
    head = width.to_bytes(4, "big") + (1).to_bytes(4, "big") + bytes([8, color, 0, 0, 0])
    body = chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(b"\0" + data)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body


RGB = u8([[[1, 2, 3], [250, 251, 252]]])
GREY = u8([[[7], [200]]])
NOTHING = np.zeros((0, 0, 3), np.uint8)

CASES = [
    Case("ImageDecoder", 20, [stream(PPM)], [RGB]),
    Case("ImageDecoder", 20, [stream(BMP)], [RGB], label="BMP"),
    Case("ImageDecoder", 20, [stream(png(2, PIXELS, 2))], [RGB], label="PNG"),
    Case("ImageDecoder", 20, [stream(PPM)], [RGB[..., ::-1]], {"pixel_format": "BGR"}),
    Case("ImageDecoder", 20, [stream(PGM)], [GREY], {"pixel_format": "Grayscale"}),
    Case("ImageDecoder", 20, [stream(PGM)], [np.repeat(GREY, 3, 2)], label="gray as RGB"),
    Case(
        "ImageDecoder", 20, [stream(PBM)], [u8([[[0], [255]]])], {"pixel_format": "Grayscale"}, "two levels"
    ),
    Case(
        "ImageDecoder",
        20,
        [stream(png(1, bytes([9, 8, 7, 128]), 6))],
        [u8([[[9, 8, 7]]])],
        label="without its alpha",
    ),
    Case("ImageDecoder", 20, [stream(b"no image")], [NOTHING], label="no image"),
    Case("ImageDecoder", 20, [stream(b"")], [NOTHING], label="no bytes"),
    Case("ImageDecoder", 20, [stream(PPM[:-4])], [NOTHING], label="cut short"),
    Case(
        "ImageDecoder",
        20,
        [stream(b"GIF89a")],
        [NOTHING[..., :1]],
        {"pixel_format": "Grayscale"},
        "no format of the list",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


@pytest.mark.parametrize(
    ("name", "options"),
    [("PNG", {}), ("TIFF", {}), ("WEBP", {"lossless": True}), ("BMP", {}), ("PPM", {}), ("JPEG2000", {})],
)
def test_formats_without_loss_come_back(name: str, options: dict[str, bool]) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (9, 7, 3)).astype(np.uint8)
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, name, **options)
    assert_case(Case("ImageDecoder", 20, [stream(file.getvalue())], [pixels]))


def test_a_gif_is_none_of_the_formats() -> None:
    file = io.BytesIO()
    Image.new("RGB", (2, 2)).save(file, "GIF")
    assert_case(Case("ImageDecoder", 20, [stream(file.getvalue())], [NOTHING]))


def encode_image(name: str) -> bytes:
    file = io.BytesIO()
    Image.effect_noise((16, 16), 50).convert("RGB").save(file, name)
    return file.getvalue()


FILES = {name: encode_image(name) for name in ("PNG", "TIFF", "WEBP", "BMP", "PPM", "JPEG", "JPEG2000")}


@given(
    name=st.sampled_from(sorted(FILES)),
    cut=st.floats(0, 1),
    edits=st.lists(st.tuples(st.floats(0, 1), st.integers(0, 255)), max_size=4),
)
def test_damaged_files_never_raise(name: str, cut: float, edits: list[tuple[float, int]]) -> None:
    data = bytearray(FILES[name])
    for place, byte in edits:
        data[int(place * (len(data) - 1))] = byte
    if cut < 0.5:
        del data[int(cut * 2 * len(data)) :]
    case = Case("ImageDecoder", 20, [stream(bytes(data))], [...])
    limits = RunLimits(bytes=1 << 22)
    try:
        (pixels,) = Interpreter(model_of(case), limits=limits).run({"x0": case.inputs[0]}).values()
    except LimitError:
        return  # a size that is too large, which one of the bytes may encode
    assert isinstance(pixels, np.ndarray)
    assert (pixels.ndim, pixels.shape[2], pixels.dtype) == (3, 3, np.dtype(np.uint8))


def test_pixels_have_a_limit() -> None:
    small = Case("ImageDecoder", 20, [stream(PPM)], [...])
    with pytest.raises(LimitError, match=r"limits\.bytes"):
        Interpreter(model_of(small), limits=RunLimits(bytes=5)).run({"x0": stream(PPM)})
    with pytest.raises(LimitError, match="MAX_IMAGE_PIXELS"):
        assert_case(Case("ImageDecoder", 20, [stream(b"P6 100000 100000 255\n")], [...]))


def test_without_pillow_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "PIL", None)
    assert_refused(Case("ImageDecoder", 20, [stream(PPM)], [...]), r"pip install 'sardonyx\[image\]'")


def test_inference() -> None:
    bytes_ = TensorType(DataType.UINT8, (None,))
    for name, channels in (("RGB", 3), ("Grayscale", 1)):
        types = infer_types(make_inference("ImageDecoder", 20, [bytes_], pixel_format=name))
        assert types == [TensorType(DataType.UINT8, (symbol("new0"), symbol("new1"), channels))]
    assert_contradiction(make_inference("ImageDecoder", 20, [TensorType(DataType.UINT8, (2, 3))]), "rank 2")
