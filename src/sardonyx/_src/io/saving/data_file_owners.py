"""Refusal to overwrite data files of other models: a data file does not say to which models it belongs."""

from __future__ import annotations

import os
from collections.abc import Iterable

from sardonyx._src.errors import ExternalDataError, SardonyxError
from sardonyx._src.io.external import ExternalStorage, components
from sardonyx._src.io.loading.load import load
from sardonyx._src.ir.walk import model_tensors


def refuse_foreign_files(path: str, locations: Iterable[tuple[str, ...]]) -> None:
    """Raises ExternalDataError for an existing data file, unless the model at `path`, which is replaced, refers to it.

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
    """The path components of each data file of the model at `path`; an empty set if there is no valid model."""
    try:
        tensors = list(model_tensors(load(path)))
    except (SardonyxError, OSError):
        return set()
    storages = [tensor.storage for tensor in tensors]
    return {components(s.location, "external") for s in storages if isinstance(s, ExternalStorage)}
