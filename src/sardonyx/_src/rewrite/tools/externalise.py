"""Weights moved out of a model into files beside it, and back."""

from __future__ import annotations

import os

from sardonyx._src.errors import LimitError
from sardonyx._src.io import to_proto
from sardonyx._src.io.save import save
from sardonyx._src.ir.graph import Model
from sardonyx._src.proto.binary import chunks

PROTOBUF_LIMIT = (1 << 31) - 1  # bytes of one message, which other readers do not pass


def externalise(
    model: Model,
    target: str | os.PathLike[str],
    *,
    location: str | None = None,
    threshold: int = 1024,
    one_file_per_tensor: bool = False,
    align: int = 4096,
    checksum: bool = False,
) -> None:
    """Writes the model to `target` with its weights of at least `threshold` bytes in a file beside it.

    `location`: the file's name, relative to the target's directory; `NAME.data` without one.  With
    `one_file_per_tensor` there are as many as tensors, named `NAME-00001-of-00003.data`.  `align` and `checksum`, what is
    raised, and that old files stay until the new ones are whole, are as with `sardonyx.save`.  No more than one
    tensor is in memory at a time.
    """
    save(
        model,
        target,
        external=location or True,
        shard_size=1 if one_file_per_tensor else None,
        threshold=threshold,
        align=align,
        checksum=checksum,
    )


def internalise(model: Model, target: str | os.PathLike[str], *, limit: int = PROTOBUF_LIMIT) -> None:
    """Writes the model to `target` with all its weights in it, piece by piece.

    Raises LimitError, and writes nothing, for a model of more than `limit` bytes: protobuf's own libraries read
    no message of more than 2 GiB.  Raises ExternalDataError for weights that cannot be read.
    """
    size = sum(map(len, chunks(to_proto.model(model))))
    if size > limit:
        what = (
            f"with its weights inside the model takes {size} bytes, and a protobuf file of more than {limit}"
        )
        raise LimitError(
            f"{what} is one that other tools do not read; keep the weights external", limit="limit"
        )
    save(model, target, external=False)
