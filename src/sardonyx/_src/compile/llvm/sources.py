"""The identity of the sources that generate kernels."""

from __future__ import annotations

import hashlib
import os
from functools import cache

import sardonyx._src.compile as package


@cache
def sources_digest() -> str:
    """A digest of the sources of `compile`, so that versions of them can share a cache folder."""
    digest = hashlib.sha256()
    for folder, folders, files in os.walk(package.__path__[0]):
        folders.sort()
        for name in sorted(files):
            if name.endswith(".py"):
                with open(f"{folder}/{name}", "rb", buffering=0) as file:
                    digest.update(file.read())
    return digest.hexdigest()
