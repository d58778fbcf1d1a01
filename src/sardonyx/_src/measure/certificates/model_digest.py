"""The digest of what a model is: its graphs, attributes, metadata and weights, wherever they are stored."""

from __future__ import annotations

from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Model, Tensor
from sardonyx._src.runtime.identity.content_hash import digest_record, digest_tensors


def digest_content(model: Model) -> str:
    """The SHA-256 of a model's content, as 64 hexadecimal digits.

    It is the same for a model in one file, in text form, and with external data under any name: elements are hashed, not their
    encoding.  Raises what reading external data raises.
    """
    return digest_record(model, element_digest).hex()


def element_digest(tensor: Tensor) -> list[tuple[str, str]] | None:
    """The digest of a tensor, in place of the location of its data; None for strings, which the record has."""
    return None if tensor.dtype is DataType.STRING else [("sha256", digest_tensors([tensor]))]
