"""Data files that exist when a model is saved: other models may use them, since nothing in them says whose they are."""

from __future__ import annotations

import os
from collections.abc import Iterable

from sardonyx._src.errors import ExternalDataError, SardonyxError
from sardonyx._src.io.external import ExternalStorage, components
from sardonyx._src.io.loading.load import load
from sardonyx._src.ir.walk import model_tensors


def refuse_foreign_files(path: str, locations: Iterable[tuple[str, ...]]) -> None:
    """Raises ExternalDataError for a data file that exists and is not one of the model at `path`, which is replaced.

    locations: the components of the names of data files, relative to the folder of the model.
    """
    folder, name = os.path.split(path)
    existing = [names for names in locations if os.path.isfile(os.path.join(folder, *names))]
    own = locations_of(path) if existing else set()
    for names in existing:
        if names not in own:
            raise ExternalDataError(
                f"the data file {'/'.join(names)!r} must be new, or one that {name!r} refers to so far; it exists, and other models "
                "may use it: choose another name, or remove the file first",
                location="external",
            )


def locations_of(path: str) -> set[tuple[str, ...]]:
    """The components of the names of the data files of the model in a file; nothing if there is no such model."""
    try:
        tensors = list(model_tensors(load(path)))
    except (SardonyxError, OSError):
        return set()
    storages = [tensor.storage for tensor in tensors]
    return {components(s.location, "external") for s in storages if isinstance(s, ExternalStorage)}
