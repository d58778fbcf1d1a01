"""What the makers of models have in common: files of a model and of its feeds, and a reason for each that fails."""

from __future__ import annotations

import argparse
import json
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

# Writes a model to a path, and returns inputs for it by name.
Maker = Callable[[Path], Mapping[str, Any]]
MAX_REASON = 300  # characters


def export_models(makers: Mapping[str, Maker]) -> None:
    """Writes every model, as `NAME.onnx` with the feeds in `NAME.npz`, to the folder of the command line.

    A model that cannot be exported is left out, with its reason in `NAME.txt`.
    """
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    folder: Path = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    for name, make in makers.items():
        try:
            feeds = make(folder / f"{name}.onnx")
            np.savez(folder / f"{name}.npz", **{key: np.asarray(value) for key, value in feeds.items()})
        except Exception as error:  # noqa: BLE001  # exporters have no common exception
            reason = f"{type(error).__name__}: {' '.join(str(error).split())}"[:MAX_REASON]
            (folder / f"{name}.txt").write_text(f"{reason}\n\n{traceback.format_exc()}")
            print(json.dumps({"what": name, "skipped": reason}), flush=True)
        else:
            print(json.dumps({"what": name, "exported": True}), flush=True)


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    """Random float32 numbers."""
    return np.random.default_rng(seed).standard_normal(shape, np.float32)


def tokens(*shape: int, most: int, seed: int = 0) -> np.ndarray:
    """Random int64 numbers from 0 to below `most`."""
    return np.random.default_rng(seed).integers(0, most, shape)
