"""How many rows per second does `sx.score` score, compared with a script of pyarrow and onnxruntime?

Generated rows in Parquet go through a forest of 500 trees, a multilayer perceptron, and a logistic regression over columns of floats,
integers and texts.  The peer reads batches of 65,536 rows with pyarrow, runs them in onnxruntime with two threads, and writes Parquet
with pyarrow; both write one column for each output.  Each run is a process of its own.  Memory is the peak above what the process
holds when the model is ready.  The last section kills a job at random moments and compares its output with that of an undisturbed one.
"""

from __future__ import annotations

import argparse
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq

import sardonyx as sx
from measure import BUILD, machine, run, stamp
from sardonyx._src.ir.tensors import Array

PAGE = Path(__file__).resolve().parents[1] / "docs/generated/scoring.md"
FOLDER = BUILD / "scoring"
FEATURES, CATEGORIES, TREES, DEPTH = 20, 30, 500, 6
ROWS, RUNS, KILLS = 10_000_000, 3, 20
CHUNK = 1 << 18  # rows of a row group
MODELS = {"forest": "numbers", "mlp": "numbers", "logistic": "mixed"}  # with their tables
NAMES = {
    "forest": f"forest of {TREES} trees of depth {DEPTH}, {FEATURES} floats",
    "mlp": f"MLP {FEATURES}-64-64-3, {FEATURES} floats",
    "logistic": f"logistic regression, 6 floats, 2 integers, {CATEGORIES} texts",
}
OURS = """
import pyarrow.dataset, pyarrow.parquet
import sardonyx as sx
session = sx.Session({model!r}, threads=1)
with measured():
    sx.score({model!r}, {source!r}, {sink!r}, vectors="columns", workers=2)
"""
PEER = """
import numpy as np, onnxruntime, pyarrow as pa, pyarrow.parquet as pq
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = 2
session = onnxruntime.InferenceSession({model!r}, options, providers=["CPUExecutionProvider"])
inputs, outputs = session.get_inputs(), [output.name for output in session.get_outputs()]
with measured():
    writer = None
    for batch in pq.ParquetFile({source!r}).iter_batches(1 << 16):
        arrays = [column.to_numpy(zero_copy_only=False) for column in batch.columns]
        if len(inputs) == 1:
            feeds = {{inputs[0].name: np.stack(arrays, axis=1)}}
        else:
            feeds = {{name: array[:, None] for name, array in zip(batch.schema.names, arrays)}}
        columns = {{}}
        for name, result in zip(outputs, session.run(None, feeds)):
            parts = [result] if result.ndim == 1 else result.T
            columns |= {{f"{{name}}_{{i}}" if len(parts) > 1 else name: part for i, part in enumerate(parts)}}
        table = pa.table(columns)
        writer = writer or pq.ParquetWriter({sink!r}, table.schema)
        writer.write_table(table)
    writer.close()
"""
PROGRAMS = {"sardonyx": OURS, "onnxruntime": PEER}


@dataclass(frozen=True)
class Scoring:
    """Seconds and added bytes of the runs of a program."""

    seconds: Sequence[float]
    bytes: Sequence[float]


def forest(rng: np.random.Generator) -> sx.Model:
    """A classifier of complete trees with random thresholds, in the form in which skl2onnx writes two classes."""
    inner, total = 2**DEPTH - 1, 2 ** (DEPTH + 1) - 1
    ids = np.arange(total)
    is_inner, leaves = ids < inner, ids[inner:]
    every = np.tile(is_inner, TREES)
    weights = rng.random(len(leaves) * TREES)
    b = sx.Builder(opset=17, imports={"ai.onnx.ml": 3})
    label, probabilities = b.domain("ai.onnx.ml").TreeEnsembleClassifier(
        b.input("x", "float32", ["N", FEATURES]),
        nodes_treeids=np.repeat(np.arange(TREES), total).tolist(),
        nodes_nodeids=np.tile(ids, TREES).tolist(),
        nodes_featureids=np.where(every, rng.integers(0, FEATURES, every.size), 0).tolist(),
        nodes_values=np.where(every, rng.normal(size=every.size), 0).tolist(),
        nodes_modes=np.tile(np.where(is_inner, "BRANCH_LEQ", "LEAF"), TREES).tolist(),
        nodes_truenodeids=np.tile(np.where(is_inner, 2 * ids + 1, 0), TREES).tolist(),
        nodes_falsenodeids=np.tile(np.where(is_inner, 2 * ids + 2, 0), TREES).tolist(),
        class_treeids=np.repeat(np.arange(TREES), len(leaves)).tolist(),
        class_nodeids=np.tile(leaves, TREES).tolist(),
        class_ids=[0] * len(weights),
        class_weights=(weights / TREES).tolist(),
        classlabels_int64s=[0, 1],
        post_transform="NONE",
    )
    return b.model(label=label, probabilities=probabilities)


def mlp(rng: np.random.Generator) -> sx.Model:
    b = sx.Builder(opset=17)
    hidden = b.input("x", "float32", ["N", FEATURES])
    for rows, columns in ((FEATURES, 64), (64, 64)):
        weights = rng.normal(0, rows**-0.5, (rows, columns)).astype(np.float32)
        hidden = b.Relu(b.Gemm(hidden, weights, rng.normal(size=columns).astype(np.float32)))
    scores = b.Gemm(hidden, rng.normal(0, 0.1, (64, 3)).astype(np.float32))
    return b.model(probabilities=b.Softmax(scores, axis=1))


def logistic(rng: np.random.Generator) -> sx.Model:
    """The graph that skl2onnx writes for a scaler, a one-hot encoder and a logistic regression."""
    b = sx.Builder(opset=17, imports={"ai.onnx.ml": 3})
    ml = b.domain("ai.onnx.ml")
    floats = [b.input(f"f{i}", "float32", ["N", 1]) for i in range(6)]
    integers = [b.Cast(b.input(f"i{i}", "int64", ["N", 1]), to=1) for i in range(2)]
    scaled = ml.Scaler(b.Concat(*floats, *integers, axis=1), offset=[0.5] * 8, scale=[0.9] * 8)
    texts = [f"category {i}" for i in range(CATEGORIES)]
    encoded = ml.OneHotEncoder(b.input("c", "string", ["N", 1]), cats_strings=texts, zeros=1)
    features = b.Concat(scaled, b.Reshape(encoded, [-1, CATEGORIES]), axis=1)
    weights = rng.normal(0, 0.3, 8 + CATEGORIES)
    label, scores = ml.LinearClassifier(
        features,
        coefficients=np.concatenate([-weights, weights]).tolist(),
        intercepts=[-0.1, 0.1],
        classlabels_ints=[0, 1],
        multi_class=0,
        post_transform="LOGISTIC",
    )
    return b.model(label=label, probabilities=ml.Normalizer(scores, norm="L1"))


def write_tables(rows: int) -> None:
    """The tables of both kinds, row group by row group."""
    rng = np.random.default_rng(0)
    texts = pa.array([f"category {i}" for i in range(CATEGORIES)])
    writers: dict[str, pq.ParquetWriter] = {}
    for start in range(0, rows, CHUNK):
        count = min(CHUNK, rows - start)
        numbers = rng.standard_normal((FEATURES, count), np.float32)
        mixed: dict[str, Array] = {f"f{i}": numbers[i] for i in range(6)}
        mixed |= {f"i{i}": rng.integers(0, 9, count) for i in range(2)}
        tables = {
            "numbers": pa.table({f"x{i}": numbers[i] for i in range(FEATURES)}),
            "mixed": pa.table({**mixed, "c": texts.take(pa.array(rng.integers(0, CATEGORIES, count)))}),
        }
        for name, table in tables.items():
            if name not in writers:
                writers[name] = pq.ParquetWriter(FOLDER / f"{name}.parquet", table.schema)
            writers[name].write_table(table)
    for writer in writers.values():
        writer.close()


def prepare(rows: int) -> None:
    """The models and tables; tables of this number of rows are used again."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, make in (("forest", forest), ("mlp", mlp), ("logistic", logistic)):
        sx.save(make(np.random.default_rng(1)), FOLDER / f"{name}.onnx")
    tables = [FOLDER / f"{name}.parquet" for name in ("numbers", "mixed")]
    if not all(table.exists() and pq.read_metadata(table).num_rows == rows for table in tables):
        write_tables(rows)


def files(model: str, tool: str) -> dict[str, str]:
    source, sink = FOLDER / f"{MODELS[model]}.parquet", FOLDER / f"{model}_{tool}.parquet"
    return {"model": str(FOLDER / f"{model}.onnx"), "source": str(source), "sink": str(sink)}


def measure(model: str, runs: int) -> dict[str, Scoring]:
    """Both programs in turn, and a check that they agree."""
    samples: dict[str, list[dict[str, float]]] = {tool: [] for tool in PROGRAMS}
    for _ in range(runs):
        for tool, code in PROGRAMS.items():
            samples[tool].append(run(code.format(**files(model, tool))))
            print(model, tool, samples[tool][-1], flush=True)
    require_equal(model)
    return {
        tool: Scoring([s["seconds"] for s in timings], [s["bytes"] for s in timings])
        for tool, timings in samples.items()
    }


def require_equal(model: str) -> None:
    """Raises AssertionError unless the results of both programs agree; labels may differ where both classes are as likely."""
    ours, theirs = (pq.read_table(files(model, tool)["sink"]) for tool in PROGRAMS)
    assert ours.column_names == theirs.column_names
    for name in ours.column_names:
        if name != "label":
            np.testing.assert_allclose(ours[name].to_numpy(), theirs[name].to_numpy(), rtol=1e-4, atol=1e-5)
    if "label" in ours.column_names:
        margin = ours["probabilities_0"].to_numpy() - ours["probabilities_1"].to_numpy()
        assert np.all((ours["label"].to_numpy() == theirs["label"].to_numpy()) | (np.abs(margin) < 1e-4))


def row_of(model: str, rows: int, timings: dict[str, Scoring]) -> str:
    seconds = {tool: statistics.median(scoring.seconds) for tool, scoring in timings.items()}
    speeds = " | ".join(f"{rows / seconds[tool]:,.0f}" for tool in PROGRAMS)
    memory = " | ".join(f"{max(timings[tool].bytes) / 2**20:,.0f}" for tool in PROGRAMS)
    ratio = seconds["onnxruntime"] / seconds["sardonyx"]
    return f"| {NAMES[model]} | {speeds} | {ratio:.1f} | {memory} |"


def kill_and_resume(kills: int) -> tuple[int, float]:
    """The number of processes that were killed before the end of their job, and the share of rows that these had completed.

    Raises AssertionError unless the output is that of an undisturbed job.
    """
    paths = files("mlp", "sardonyx")
    sink = FOLDER / "killed"
    delays = random.Random(0)
    command = [sys.executable, "-m", "sardonyx", "score", paths["model"], paths["source"], "-o", f"{sink}/"]
    options = ["--vectors", "columns"]
    killed, restart = 0, ["--restart"]
    for _ in range(kills):
        with subprocess.Popen([*command, *options, *restart], stdout=subprocess.DEVNULL) as process:
            try:
                process.wait(delays.uniform(0.8, 2.5))
            except subprocess.TimeoutExpired:
                process.kill()
                killed += 1
        restart = [] if (sink / "_sardonyx").exists() else restart
    result = sx.score(paths["model"], paths["source"], f"{sink}/", vectors="columns")
    resumed = pyarrow.dataset.dataset(sink, format="parquet").to_table()
    assert resumed.equals(pq.read_table(paths["sink"])), "rows were lost, repeated or changed"
    return killed, result.resumed_rows / result.rows


def page(rows: int, lines: Sequence[str], runs: int, resumed: tuple[int, float] | None) -> str:
    """The page for docs/generated."""
    head = "# Rows per second of scoring\n\nWritten by `bench/scoring.py`. " + " ".join(
        str(__doc__).split()[15:]
    )
    facts = f"{rows:,} rows, {runs} runs each, medians; memory is the largest of the runs. {stamp()}"
    table = (
        "| model | sardonyx, rows/s | pyarrow and onnxruntime, rows/s | ratio | sardonyx, MiB | peer, MiB |"
    )
    parts = [head, facts, "\n".join([table, "|---|---|---|---|---|---|", *lines])]
    if resumed is not None:
        parts.append(
            f"The MLP into a folder, with {resumed[0]} processes killed after 0.8 to 2.5 seconds: the last process found "
            f"{resumed[1]:.0%} of the rows complete, and the output equals that of an undisturbed job."
        )
    return "\n\n".join(parts) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--kills", type=int, default=KILLS)
    parser.add_argument(
        "--only", choices=MODELS, help="prints the row of one model instead of writing the page"
    )
    args = parser.parse_args()
    prepare(args.rows)
    if args.only:
        print(machine(), row_of(args.only, args.rows, measure(args.only, args.runs)))
        return
    start = time.perf_counter()
    lines = [row_of(model, args.rows, measure(model, args.runs)) for model in MODELS]
    resumed = kill_and_resume(args.kills) if args.kills else None
    PAGE.write_text(page(args.rows, lines, args.runs, resumed))
    print(f"{time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
