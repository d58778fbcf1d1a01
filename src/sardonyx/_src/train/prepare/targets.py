"""The integers that the targets of a training model allow: in the metadata of the model, and their check in a run."""

from __future__ import annotations

import json
from collections.abc import Mapping

import numpy as np

from sardonyx._src.errors import InputError
from sardonyx._src.ir import Array, Model
from sardonyx._src.train.losses.base import Labels

TARGETS_KEY = "sardonyx.train.targets"


def write_targets(model: Model, labels: Mapping[str, Labels]) -> None:
    """Adds targets to the metadata of a model, as JSON: the number of classes and the ignored label by name."""
    entries = {
        name: [known.classes, known.ignored] for name, known in {**read_targets(model), **labels}.items()
    }
    if entries:
        model.metadata[TARGETS_KEY] = json.dumps(entries)


def read_targets(model: Model) -> dict[str, Labels]:
    """The targets in the metadata of a model; empty unless `write_targets` wrote them."""
    try:
        entries = json.loads(model.metadata.get(TARGETS_KEY, "{}"))
        return {name: Labels(*entry) for name, entry in entries.items()}
    except (ValueError, TypeError, AttributeError):
        return {}


def check_labels(name: str, values: Array, known: Labels, what: str) -> None:
    """Raises InputError for a label that is neither a class nor the ignored label; what: the name of the data."""
    if known.classes is None or values.dtype.kind not in "iub":
        return
    wrong = (values < 0) | (values >= known.classes)
    if known.ignored is not None:
        wrong &= values != known.ignored
    places = np.argwhere(wrong)
    if len(places):
        place = tuple(int(i) for i in places[0])
        more = "" if known.ignored is None else f", or {known.ignored}"
        raise InputError(
            f"labels in {name!r} of {what} must be in 0 to {known.classes - 1}{more}; got {values[place]} in example {place[0]}"
            + (f" (and {len(places) - 1} more)" if len(places) > 1 else ""),
            name=name,
        )
