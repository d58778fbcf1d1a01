"""Verification of all checksums of a model before its data are used."""

from __future__ import annotations

import os
from collections.abc import Iterable

from sardonyx._src.io.external.files import ExternalStorage
from sardonyx._src.ir.tensors import Tensor

MAX_THREADS = 2  # that hash files: two read faster than most disks


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
