"""The measurements of the README's first screen, each a small record of numbers."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import sardonyx as sx
from loading import loading
from make_models import decoder
from measure import FOLDER
from optimizing import MODELS
from peers import ENGINES
from sardonyx._src.errors import SardonyxError
from sardonyx._src.measure.engines import OURS, open_engine
from sardonyx._src.measure.timing import interleave_calls
from shared_models import feeds_of
from survey_cases import count_passes
from zoo.catalogue import ENTRIES, Feeds

Numbers = dict[str, float]
MAX_THREADS = 8


@dataclass(frozen=True)
class Network:
    """A network of the zoo, or else of the shared models."""

    label: str
    name: str

    def open(self) -> tuple[Path, Feeds]:
        if self.name in ENTRIES:
            return ENTRIES[self.name].path(), ENTRIES[self.name].feeds()
        return MODELS / self.name / "model.onnx", feeds_of(MODELS / self.name)


NETWORKS = (
    Network("ResNet-50, images", "resnet50"),
    Network("MobileNetV2, images", "mobilenet_v2"),
    Network("U-Net, segmentation", "unet"),
    Network("PicoDet, detection", "picodet_s_320"),
    Network("BERT base, text", "bert_base"),
    Network("GPT-2, one token", "gpt2_step"),
    Network("Silero, speech", "silero_vad_v3"),
    Network("LightGBM, trees", "tract_lgbm_classifier"),
)


def latencies(turns: int, least: bool) -> dict[str, Numbers]:
    """Seconds of a run on one thread by network and engine; engines that reject the network are missing.

    least: the shortest run instead of the median, for a busy machine.
    """
    return {network.label: latency(network, turns, least) for network in NETWORKS}


def latency(network: Network, turns: int, least: bool) -> Numbers:
    path, feeds = network.open()
    calls = {}
    for engine in ENGINES:
        try:
            run = open_engine(engine, str(path), 1)
            list(run(feeds))
        except SardonyxError as error:
            print(f"{network.label}: {str(error)[:100]}", flush=True)
            continue
        calls[engine] = lambda run=run: list(run(feeds))
    samples = interleave_calls(calls, turns, lambda: None)
    summary = min if least else np.median
    times = {engine: float(summary(runs)) for engine, runs in samples.items()}
    print(network.label, {engine: f"{seconds * 1e3:.3g} ms" for engine, seconds in times.items()}, flush=True)
    return times


def load_times() -> dict[str, Numbers]:
    """Seconds to load a large file in a fresh process, by tool, and the size of the file in bytes."""
    rows = loading("load", str(decoder()))
    times = {row.tool: row.seconds for row in rows if row.tool in (OURS, "onnx")}
    return {"seconds": times, "file": {"bytes": decoder().stat().st_size}}


def official_cases() -> dict[str, Numbers]:
    """Passed cases of the official suite by tool, and their number."""
    return count_suite("official", (OURS, "onnxruntime"))


def checker_corpus() -> dict[str, Numbers]:
    """Pairs of a bad model and its repaired twin that a checker tells apart, by tool, and their number."""
    return count_suite("checker", (OURS, "onnx"))


def count_suite(suite: str, tools: tuple[str, ...]) -> dict[str, Numbers]:
    counts = {tool: count_passes(suite, tool) for tool in tools}
    totals = {total for _, total in counts.values()}
    assert len(totals) == 1, f"the tools have run different cases: {counts}"
    return {"passed": {tool: passed for tool, (passed, _) in counts.items()}, "all": {"cases": totals.pop()}}


def equal_bits() -> dict[str, Numbers]:
    """How many networks have equal output bytes on 1 to MAX_THREADS threads."""
    equal = sum(has_equal_bits(*network.open()) for network in NETWORKS)
    return {"networks": {"equal": equal, "all": len(NETWORKS), "threads": MAX_THREADS}}


def has_equal_bits(path: Path, feeds: Mapping[str, object]) -> bool:
    first = output_bytes(path, feeds, 1)
    return all(output_bytes(path, feeds, threads) == first for threads in range(2, MAX_THREADS + 1))


def output_bytes(path: Path, feeds: Mapping[str, object], threads: int) -> bytes:
    outputs = sx.Session(path, threads=threads, engine="native").run(feeds).values()
    return b"".join(np.asarray(value).tobytes() for value in outputs)


def wheel() -> dict[str, Numbers]:
    """The size of the wheel in bytes; asserts that it is pure Python, one file for every platform."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", folder, "."]
        subprocess.run(command, cwd=FOLDER.parent, check=True)
        (path,) = Path(folder).iterdir()
        assert path.name.endswith("-py3-none-any.whl"), path.name
        return {"wheel": {"bytes": path.stat().st_size}}
