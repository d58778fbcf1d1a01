"""The identity of the sources that generate kernels."""

from __future__ import annotations

import hashlib
import os
import sys
from functools import cache

import sardonyx._src.compile as package
from sardonyx._src.phases import phase


@cache
@phase("digests")
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


@cache
def installation_record() -> str | None:
    """The path of the list of files that an installer has written; None for sources that are not installed, as in a checkout.

    Installed files are not edited, and every installation writes a new list.
    """
    path = record_path(*installation())
    return path if os.path.exists(path) else None


def installation() -> tuple[str, str]:
    """The folder of the package that users import, and its version."""
    top = sys.modules[package.__name__.partition(".")[0]]
    return top.__path__[0], top.__version__


def record_path(package: str, version: str) -> str:
    """Where an installer lists the files of a version of the package in this folder."""
    folder, name = os.path.split(package)
    return os.path.join(folder, f"{name}-{version}.dist-info", "RECORD")
