"""All networks, by name."""

from __future__ import annotations

import importlib
from pathlib import Path

from model_zoo.registry import NETWORKS

__all__ = ["NETWORKS"]

for _path in sorted((Path(__file__).parent / "networks").glob("*.py")):
    importlib.import_module(f"model_zoo.networks.{_path.stem}")
