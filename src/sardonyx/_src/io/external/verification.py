"""Verification of all checksums of a model before its data are used, or while they are copied."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from sardonyx._src.errors import SardonyxError
from sardonyx._src.io.external.files import IS_VERIFICATION_DEFERRED, ExternalStorage
from sardonyx._src.ir import Tensor
from sardonyx._src.threads import start_thread

MAX_THREADS = 2  # threads that hash files: two hash faster than most disks read


def verify_checksums(tensors: Iterable[Tensor]) -> None:
    """Verifies the checksums that external tensors state, one per file, several files at a time.

    Raises ExternalDataError, for the first tensor of a file that differs, is missing or cannot be read.
    """
    stored = (tensor.storage for tensor in tensors if isinstance(tensor.storage, ExternalStorage))
    stated = {s.file: s for s in stored if s.needs_verification}
    storages = list(stated.values())
    if len(storages) == 1:  # most models have one file
        storages[0].verify()
    elif storages:
        from concurrent.futures import ThreadPoolExecutor  # lazy: few models state checksums of several files

        with ThreadPoolExecutor(min(MAX_THREADS, os.cpu_count() or 1)) as pool:
            for _ in pool.map(ExternalStorage.verify, storages):
                pass


@contextmanager
def verify_meanwhile(tensors: Sequence[Tensor]) -> Iterator[None]:
    """Verifies checksums in another thread while the block uses the data.

    Raises ExternalDataError at the end of the block, as `verify_checksums`: results of the block must then be discarded.
    """
    storages = (tensor.storage for tensor in tensors)
    if not any(isinstance(s, ExternalStorage) and s.needs_verification for s in storages):
        yield
        return
    errors: list[SardonyxError] = []

    def verify() -> None:
        try:
            verify_checksums(tensors)
        except SardonyxError as error:
            errors.append(error)

    thread = threading.Thread(target=verify, name="sardonyx-checksums", daemon=True)
    token = IS_VERIFICATION_DEFERRED.set(True)
    start_thread(thread)
    try:
        yield
    finally:
        IS_VERIFICATION_DEFERRED.reset(token)
        thread.join()
    if errors:
        raise errors[0]
