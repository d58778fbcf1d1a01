"""What integers the targets of a training model allow, in its metadata."""

from __future__ import annotations

import json
from collections.abc import Mapping

from sardonyx._src.ir.model import Model
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
    """The targets that the metadata of a model have; none if they are not what `write_targets` writes."""
    try:
        entries = json.loads(model.metadata.get(TARGETS_KEY, "{}"))
        return {name: Labels(*entry) for name, entry in entries.items()}
    except (ValueError, TypeError, AttributeError):
        return {}
