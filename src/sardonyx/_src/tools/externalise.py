"""Moving weights from a model into external data files, and back."""

from __future__ import annotations

import os

from sardonyx._src.errors import LimitError
from sardonyx._src.io.saving.save import save
from sardonyx._src.io.serde import to_proto
from sardonyx._src.ir import Model
from sardonyx._src.proto.binary import chunks

PROTOBUF_LIMIT = (1 << 31) - 1  # bytes of the largest message that the protobuf libraries read


def externalise(
    model: Model,
    target: str | os.PathLike[str],
    *,
    location: str | None = None,
    threshold: int = 1024,
    one_file_per_tensor: bool = False,
    align: int = 4096,
    checksum: bool | None = None,
) -> None:
    """Write the model to `target`, with its weights of at least `threshold` bytes in an external data file.

    `location`: the file's name relative to the target's directory, by default `NAME.data`.  `one_file_per_tensor`
    writes a file per tensor, named `NAME-00001-of-00003.data`.  `align`, `checksum`, errors and the atomic
    replacement of files are as in `sardonyx.save`.  At most one tensor is in memory at a time.
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
    """Write the model to `target` with all weights embedded, in chunks.

    Raises LimitError, and writes nothing, for a model of more than `limit` bytes: the protobuf libraries read no
    message of more than 2 GiB.  Raises ExternalDataError for weights that cannot be read.
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
