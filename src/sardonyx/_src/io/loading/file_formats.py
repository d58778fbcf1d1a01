"""Formats that are mistaken for ONNX models, recognized by the first bytes of a file."""

from __future__ import annotations

import mmap
import re
from typing import TYPE_CHECKING, TypeAlias

from sardonyx._src.errors import DecodeError

if TYPE_CHECKING:
    from sardonyx._src.proto.record import Record

FileData: TypeAlias = bytes | bytearray | memoryview | mmap.mmap

HEAD_BYTES = 512  # first bytes of a file in which `recognize_format` searches
DECOMPRESS = "decompress it first"
EXPORT = "convert it to ONNX with the tools of its framework"
WEIGHTS = "it has weights but no graph: export the model from its framework"
NOT_A_MODEL = "name the file of an ONNX model"
# The first bytes of each format, as a regular expression; what it is; the cure.  Special cases of a format precede it.
FORMATS: tuple[tuple[bytes, str, str], ...] = (
    (
        rb"version https://git-lfs\.github\.com/spec/",
        "a Git LFS pointer file",
        "fetch the content with `git lfs pull`",
    ),
    (rb"\x89SDX\r\n\x1a\n", "a compiled program", "name it .sdx, and run it with sx.Session"),
    (rb"PK\x03\x04.{26}[^\0]{0,100}?\.npy", "an .npz archive of arrays", NOT_A_MODEL),
    (
        rb"PK\x03\x04.{26}[^\0]{0,400}?(data\.pkl|constants\.pkl|\.format_version|/version|/byteorder|code/)",
        "a PyTorch archive (TorchScript or torch.save)",
        "export the model with torch.onnx.export",
    ),
    (
        rb"PK\x03\x04.{26}(config\.json|metadata\.json|model\.weights\.h5)",
        "a Keras archive",
        EXPORT,
    ),
    (rb"PK(\x03\x04|\x05\x06|\x07\x08)", "a zip archive", "extract the model from it"),
    (rb".{257}ustar", "a tar archive", "extract the model from it"),
    (rb"\x1f\x8b", "a gzip file", DECOMPRESS),
    (rb"\xfd7zXZ\0", "an xz file", DECOMPRESS),
    (rb"BZh[1-9]1AY&SY|BZh[1-9]\x17\x72\x45\x38\x50\x90", "a bzip2 file", DECOMPRESS),
    (rb"\x28\xb5\x2f\xfd", "a zstd file", DECOMPRESS),
    (rb"\x04\x22\x4d\x18", "an LZ4 file", DECOMPRESS),
    (rb"7z\xbc\xaf\x27\x1c", "a 7z archive", "extract the model from it"),
    (rb"Rar!\x1a\x07", "a RAR archive", "extract the model from it"),
    (rb"\x89PNG\r\n\x1a\n", "a PNG image", NOT_A_MODEL),
    (rb"\xff\xd8\xff", "a JPEG image", NOT_A_MODEL),
    (rb"GIF8[79]a", "a GIF image", NOT_A_MODEL),
    (rb"RIFF.{4}WEBP", "a WebP image", NOT_A_MODEL),
    (rb"\x93NUMPY", "a .npy array", NOT_A_MODEL),
    (rb"\x80[\x02-\x05][\x8a\x95\}\]\(c\x8c]", "a Python pickle", "export the model from its framework"),
    (rb".{4}\0{4}\{", "a safetensors file", WEIGHTS),
    (rb".{4}TFL3", "a TFLite model", EXPORT),
    (rb".{4}ORTM", "a model in ORT format", "name the ONNX model that it was made from"),
    (rb"GGUF", "a GGUF file", WEIGHTS),
    (rb"\x89HDF\r\n\x1a\n", "an HDF5 (Keras) file", EXPORT),
    (rb"\x7fELF", "an ELF executable", NOT_A_MODEL),
    (rb"MZ", "a Windows executable", NOT_A_MODEL),
    (rb"[\xce\xcf]\xfa\xed\xfe|\xca\xfe\xba\xbe", "a Mach-O executable", NOT_A_MODEL),
    (rb"%PDF-", "a PDF document", NOT_A_MODEL),
    (
        rb"(\xef\xbb\xbf)?\s*<(?i:!DOCTYPE\s+html|html|head|body)[\s>]",
        "an HTML page",
        "a download that needs a login or another address often gives one; download the file itself",
    ),
    (rb"(\xef\xbb\xbf)?\s*<(\?xml|!DOCTYPE|!--|svg\s|net\s)", "an XML document", NOT_A_MODEL),
)


def recognize_format(data: FileData) -> str | None:
    """A message that names the format of data that are not a model, and the cure; None if the format is not known.

    Some of these formats decode as a message of unknown fields: call this when decoding fails, and when it finds no graph.
    """
    head = bytes(memoryview(data)[:HEAD_BYTES])
    for pattern, name, cure in FORMATS:
        if re.match(pattern, head, re.DOTALL):
            return f"this is {name}: {cure}"
    return None


def explain_failure(error: DecodeError, data: FileData, source: str = "") -> DecodeError:
    """The error for data that do not decode, which names their format if it is known."""
    if (text := recognize_format(data)) is not None:
        return DecodeError(text, offset=0, source=source)
    return DecodeError(
        error.why + text_hint(bytes(memoryview(data)[:64])),
        offset=error.offset,
        path=error.path,
        source=source,
    )


def require_model(record: Record, data: FileData, source: str = "") -> None:
    """Raises DecodeError for the record of a model without graph if its data have another format."""
    if not record.has("graph") and (text := recognize_format(data)) is not None:
        raise DecodeError(text, offset=0, source=source)


def text_hint(start: bytes) -> str:
    """A hint for data that look like text."""
    if start.lstrip().startswith(b"<") or (start.isascii() and b"\x00" not in start and b"\n" in start):
        return (
            "; this looks like text: ONNX text is read from files that end in .onnxtxt, and by sx.from_text"
        )
    return ""
