"""The corpus of faults that were found: small files, each with what happened, and feeds if it takes any."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import sardonyx as sx
from fuzz.bytes_mutants import judge_model
from fuzz.engines import compare_engines
from fuzz.feeding import feeds_for
from fuzz.paths import ROOT
from fuzz.verdicts import Verdict
from sardonyx._src.errors import SardonyxError
from sardonyx._src.ops.api import RuntimeValue

FOLDER = ROOT / "tests" / "fuzz" / "corpus"
INDEX = FOLDER / "index.json"


@dataclass(frozen=True)
class CorpusEntry:
    """what: what happened before the fault was fixed."""

    name: str
    what: str

    @property
    def model(self) -> bytes:
        return (FOLDER / f"{self.name}.onnx").read_bytes()

    @property
    def feeds(self) -> Mapping[str, RuntimeValue]:
        path = FOLDER / f"{self.name}.npz"
        if not path.exists():
            return {}
        with np.load(path) as archive:
            return dict(archive)


def corpus_entries(index: Path = INDEX) -> list[CorpusEntry]:
    if not index.exists():
        return []
    texts = json.loads(index.read_text(encoding="utf-8"))
    return [CorpusEntry(name, what) for name, what in sorted(texts.items())]


def judge_entry(entry: CorpusEntry) -> Verdict:
    """The verdict on an entry: load, check, infer, and a run on both engines with its feeds or random ones."""
    verdict = judge_model(entry.model)
    if verdict.fault:
        return verdict
    try:
        model = sx.load(entry.model)
    except SardonyxError:
        return verdict
    feeds = feeds_for(model, entry.feeds, seed=0)
    return verdict if feeds is None else compare_engines(model, feeds)


def add_entry(name: str, what: str, model: bytes, feeds: Mapping[str, object]) -> None:
    """Writes an entry; feeds that are not arrays of numbers are left out."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / f"{name}.onnx").write_bytes(model)
    arrays = {
        key: value
        for key, value in feeds.items()
        if isinstance(value, np.ndarray) and value.dtype.kind in "biuf"
    }
    if arrays:
        np.savez(FOLDER / f"{name}.npz", allow_pickle=False, **arrays)
    texts = {entry.name: entry.what for entry in corpus_entries()} | {name: what}
    INDEX.write_text(json.dumps(dict(sorted(texts.items())), indent=2) + "\n", encoding="utf-8")
