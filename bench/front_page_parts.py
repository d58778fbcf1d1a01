"""The measurements of the README's first screen, each a small record of numbers."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

import sardonyx as sx
from loading import loading
from make_models import decoder
from measure import BUILD, FOLDER
from peers import ENGINES
from quantized_networks import QUANTIZED
from recurrent import Layer
from sardonyx._src.errors import SardonyxError
from sardonyx._src.measure.engines import OURS, Feeds, Run, open_engine
from sardonyx._src.measure.timing import interleave_calls, measure_call
from survey_cases import count_passes
from zoo.catalogue import ENTRIES

sys.path.append(str(FOLDER.parent / "tests"))
from compile.random_trees import RandomTrees, TreeShape, tree_model

Numbers = dict[str, float]
MAX_THREADS = 8
LONG_RUN = 1e-3  # seconds, beyond which a run is often interrupted on a busy machine


@dataclass(frozen=True)
class Network:
    """A network that the programs of this folder make.  find: the path of its file, and its inputs."""

    label: str
    find: Callable[[], tuple[Path, Feeds]]


def of_zoo(name: str) -> tuple[Path, Feeds]:
    return ENTRIES[name].path(), ENTRIES[name].feeds()


def quantized(name: str) -> tuple[Path, Feeds]:
    return QUANTIZED[name].path(), QUANTIZED[name].feeds()


def recurrent(layer: Layer) -> tuple[Path, Feeds]:
    path = BUILD / "front_page_lstm.onnx"
    sx.save(layer.model(), path, external=False)
    return path, layer.feeds()


def trees(shape: TreeShape) -> tuple[Path, Feeds]:
    """A regressor of random trees, and one row."""
    path = BUILD / "front_page_trees.onnx"
    attributes = RandomTrees(0, shape, 1).attributes("target") | {"n_targets": 1}
    sx.save(tree_model("TreeEnsembleRegressor", 1, np.float32, attributes), path, external=False)
    return path, {"x": np.array([[0.1, -0.4, 0.7, 1.2, -1.6]], np.float32)}


NETWORKS = (
    Network("ResNet-50, images", partial(of_zoo, "resnet50")),
    Network("MobileNetV2, 8 bits", partial(quantized, "mobilenet_v2, QDQ")),
    Network("U-Net, segmentation", partial(of_zoo, "unet")),
    Network("BERT base, text", partial(of_zoo, "bert_base")),
    Network("GPT-2, one token", partial(of_zoo, "gpt2_step")),
    Network("LSTM, 100 steps", partial(recurrent, Layer("LSTM", 1, 100, 80, 128))),
    Network("100 trees, one row", partial(trees, TreeShape(trees=100, leaves=32, balanced=True))),
    Network("perceptron, one row", partial(of_zoo, "mlp_1")),
)


def latencies(turns: int, least: bool) -> dict[str, Numbers]:
    """Seconds of a run on one thread by network and engine; engines that reject the network are missing.

    least: the shortest run instead of the median, for a busy machine; of long runs in processor time.
    """
    return {network.label: latency(network, turns, least) for network in NETWORKS}


def latency(network: Network, turns: int, least: bool) -> Numbers:
    path, feeds = network.find()
    calls: dict[str, Callable[[], object]] = {}
    for engine in ENGINES:
        try:
            run = open_engine(engine, str(path), 1)
            list(run(feeds))
        except SardonyxError as error:
            print(f"{network.label}: {str(error)[:100]}", flush=True)
            continue
        calls[engine] = partial(call_engine, run, feeds)
    is_long = min(measure_call(call, time.perf_counter) for call in calls.values()) > LONG_RUN
    clock = time.process_time if least and is_long else time.perf_counter
    samples = interleave_calls(calls, turns, lambda: None, clock)
    summary = min if least else np.median
    times = {engine: float(summary(runs)) for engine, runs in samples.items()}
    print(network.label, {engine: f"{seconds * 1e3:.3g} ms" for engine, seconds in times.items()}, flush=True)
    return times


def call_engine(run: Run, feeds: Feeds) -> list[object]:
    return list(run(feeds))


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
    equal = sum(has_equal_bits(*network.find()) for network in NETWORKS)
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
