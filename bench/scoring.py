"""How many rows per second does `sx.score` score, compared with a script of pyarrow and onnxruntime?

Generated rows in Parquet go through a forest of 500 trees, a multilayer perceptron, and a logistic regression over columns of floats,
integers and texts.  The peer reads batches of 65,536 rows with pyarrow, runs them in onnxruntime with two threads, and writes Parquet
with pyarrow; both write one column for each output, with the same compression.  Each run is a process of its own, and times include
opening the files and, of `sx.score`, the model.  Memory is the peak above what the process holds when a session is ready.

The pieces are measured one by one and kept in `.bench/scoring`, so that a run that ends early continues; the page has what is complete.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import sardonyx as sx
from measure import BUILD, run, stamp
from sardonyx._src.ir import Array
from scoring_kills import Kills, kill_and_resume
from scoring_models import CATEGORIES, FEATURES, NAMES, forest, logistic, mlp

PAGE = Path(__file__).resolve().parents[1] / "docs/generated/scoring.md"
FOLDER = BUILD / "scoring"
ROWS, RUNS, KILLS = 10_000_000, 3, 20
PEER_ROWS = {
    "forest": 500_000
}  # of the peer, where all would take ten minutes; a run of half of them shows that times are linear
CHUNK = 1 << 18  # rows of a row group
MODELS = {"forest": "numbers", "mlp": "numbers", "logistic": "mixed"}  # with their tables
MAKERS = {"forest": forest, "mlp": mlp, "logistic": logistic}
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
    writer, rows = None, 0
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
        rows += len(table)
        if rows >= {rows}:
            break
    writer.close()
"""
PROGRAMS = {"sardonyx": OURS, "onnxruntime": PEER}
Sample = dict[str, float]  # rows, seconds, processor seconds, bytes


@dataclass
class Results:
    """What is measured so far.  samples: by model and tool; the peer's run of half of its rows is "half"."""

    rows: int
    stamp: str
    samples: dict[str, dict[str, list[Sample]]] = field(default_factory=dict)
    kills: Kills | None = None

    @classmethod
    def load(cls, rows: int, *, restart: bool) -> Results:
        """Those of earlier runs for this number of rows."""
        path = FOLDER / f"results_{rows}.json"
        if restart or not path.exists():
            return cls(rows, stamp())
        kept = json.loads(path.read_text())
        kills = None if kept["kills"] is None else Kills(**kept["kills"])
        return cls(rows, kept["stamp"], kept["samples"], kills)

    def save(self) -> None:
        (FOLDER / f"results_{self.rows}.json").write_text(json.dumps(asdict(self)))

    def samples_of(self, model: str, tool: str) -> list[Sample]:
        return self.samples.setdefault(model, {}).setdefault(tool, [])


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
    for name, make in MAKERS.items():
        sx.save(make(np.random.default_rng(1)), FOLDER / f"{name}.onnx")
    tables = [FOLDER / f"{name}.parquet" for name in ("numbers", "mixed")]
    if not all(table.exists() and pq.read_metadata(table).num_rows == rows for table in tables):
        write_tables(rows)


def files(model: str, tool: str) -> dict[str, str]:
    source, sink = FOLDER / f"{MODELS[model]}.parquet", FOLDER / f"{model}_{tool}.parquet"
    return {"model": str(FOLDER / f"{model}.onnx"), "source": str(source), "sink": str(sink)}


def run_once(model: str, tool: str, rows: int) -> Sample:
    sample = {"rows": rows, **run(PROGRAMS[tool].format(**files(model, tool), rows=rows))}
    print(model, tool, sample, flush=True)
    return sample


def measure(results: Results, model: str, runs: int) -> None:
    """Both programs in turn, and a check that they agree."""
    peer_rows = min(PEER_ROWS.get(model, results.rows), results.rows)
    if peer_rows < results.rows and not results.samples_of(model, "half"):
        results.samples_of(model, "half").append(run_once(model, "onnxruntime", peer_rows // 2))
    for number in range(runs):
        for tool, rows in (("sardonyx", results.rows), ("onnxruntime", peer_rows)):
            samples = results.samples_of(model, tool)
            if len(samples) <= number:
                samples.append(run_once(model, tool, rows))
                results.save()
    require_equal(model)


def require_equal(model: str) -> None:
    """Raises AssertionError unless the results of both programs agree; labels may differ where both classes are as likely."""
    ours, theirs = (pq.read_table(files(model, tool)["sink"]) for tool in PROGRAMS)
    ours = ours.slice(0, len(theirs))
    assert ours.column_names == theirs.column_names
    assert len(ours) == len(theirs) > 0
    for name in ours.column_names:
        if name != "label":
            np.testing.assert_allclose(ours[name].to_numpy(), theirs[name].to_numpy(), rtol=1e-4, atol=1e-5)
    if "label" in ours.column_names:
        margin = ours["probabilities_0"].to_numpy() - ours["probabilities_1"].to_numpy()
        assert np.all((ours["label"].to_numpy() == theirs["label"].to_numpy()) | (np.abs(margin) < 1e-4))


def row_of(model: str, samples: Mapping[str, Sequence[Sample]]) -> str:
    """A row of the table: medians of seconds and processor seconds, the largest memory."""
    tools = [samples[tool] for tool in PROGRAMS]
    speeds = [statistics.median(s["rows"] / s["seconds"] for s in runs) for runs in tools]
    costs = [statistics.median(s["processor"] / s["rows"] for s in runs) * 1e6 for runs in tools]
    memory = [max(s["bytes"] for s in runs) / 2**20 for runs in tools]
    facts = [f"{speeds[0]:,.0f}", f"{speeds[1]:,.0f}", f"{speeds[0] / speeds[1]:.1f}"]
    facts += [f"{cost:.2f}" for cost in costs] + [f"{size:,.0f}" for size in memory]
    return f"| {NAMES[model]} | {' | '.join(facts)} |"


def page(results: Results) -> str:
    """The page for docs/generated."""
    text = " ".join(str(__doc__).split("\n\n")[1].split())
    parts = [f"# Rows per second of scoring\n\nWritten by `bench/scoring.py`. {text}"]
    complete = {model: tools for model, tools in results.samples.items() if all(map(tools.get, PROGRAMS))}
    runs = min((len(tools[tool]) for tools in complete.values() for tool in PROGRAMS), default=0)
    parts.append(
        f"{results.rows:,} rows, {runs} run{'s' * (runs > 1)} each; memory is the largest of the runs. {results.stamp}"
    )
    head = [
        "| model | sardonyx, rows/s | peer, rows/s | ratio | sardonyx, processor µs/row | peer, µs/row | sardonyx, MiB | peer, MiB |",
        "|---|---|---|---|---|---|---|---|",
    ]
    parts.append("\n".join(head + [row_of(model, complete[model]) for model in MODELS if model in complete]))
    parts += [half_text(model, tools) for model, tools in complete.items() if tools.get("half")]
    if results.kills is not None:
        parts.append(results.kills.text())
    return "\n\n".join(parts) + "\n"


def half_text(model: str, samples: Mapping[str, Sequence[Sample]]) -> str:
    """That the peer's time is linear in the rows, for a model that it runs on fewer."""
    half, whole = samples["half"][0], samples["onnxruntime"]
    ratio = statistics.median(s["seconds"] for s in whole) / half["seconds"]
    return f"The peer runs the {model} on {whole[0]['rows']:,} rows only; half of them take 1/{ratio:.2f} of the time."


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--kills", type=int, default=KILLS)
    parser.add_argument("--only", choices=["tables", *MODELS, "kills"], help="measures one piece")
    parser.add_argument("--restart", action="store_true", help="measures again what is complete")
    parser.add_argument("--print", action="store_true", help="prints the page instead of writing it")
    args = parser.parse_args()
    start = time.perf_counter()
    prepare(args.rows)
    results = Results.load(args.rows, restart=args.restart)
    for model in MODELS:
        if args.only in (None, model):
            measure(results, model, args.runs)
    if args.only in (None, "kills") and (results.kills is None or args.only):
        paths = files("mlp", "sardonyx")
        results.kills = kill_and_resume(paths["model"], paths["source"], FOLDER, args.rows, args.kills)
    results.save()
    if args.print:
        print(page(results))
    elif args.only != "tables":
        PAGE.write_text(page(results))
    print(f"{time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
