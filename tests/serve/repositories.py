"""Model repositories for tests: small models in folders."""

from __future__ import annotations

from pathlib import Path

import sardonyx as sx
from models import parse_model

SCALE = "g (float[N,2] x) => (float[N,2] y) <float[2] w = {{{0}, {0}}}> {{ y = Mul(x, w) }}"


def write_scale(path: Path, factor: int) -> None:
    """Writes a model that multiplies its input x, float[N,2], by a factor; replaces a file at once."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name("." + path.name)
    sx.save(parse_model(SCALE.format(factor)), part)
    part.replace(path)
