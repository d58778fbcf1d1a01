"""Sessions of models of many weights, of which the memory holds one at a time."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

from sardonyx._src.dtypes import DataType, nbytes
from sardonyx._src.io.memory_release import trim_heap
from sardonyx._src.ir import Model
from sardonyx._src.ir.walk import model_tensors
from sardonyx._src.runtime.session.session import Session

MIN_COLLECTED_BYTES = 1 << 26  # of a model's tensors; a collection takes longer than smaller ones are worth


@contextmanager
def open_session(model: Model) -> Iterator[Session]:
    """A session with the default number of threads; at the end, the memory of many weights is returned to the system."""
    session = Session(model, shapes="off", seed=0)
    try:
        yield session
    finally:
        session.close()
    del session
    if tensor_bytes(model) > MIN_COLLECTED_BYTES:
        gc.collect()  # a graph is a reference cycle, which holds copies of the weights
        trim_heap()


def tensor_bytes(model: Model) -> int:
    """The bytes of all tensors of numbers."""
    return sum(
        nbytes(tensor.dtype, tensor.size)
        for tensor in model_tensors(model)
        if tensor.dtype is not DataType.STRING
    )
