"""`sardonyx score --ray`: a local cluster of Ray writes what one process writes, also while a worker and a node are killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
import ray
from ray.cluster_utils import Cluster

import sardonyx as sx
from sardonyx._src.cli.main import main
from sardonyx._src.score.job import job as scoring
from sardonyx._src.score.job import ranges
from sardonyx._src.score.job.summary import ScoreStatus
from sardonyx._src.score.results import parts

MODEL = """<ir_version: 10, opset_import: ["": 21]>
g (float[N,2] x, string[N] name) => (float[N,2] y, string[N] same) { y = Softmax(x) same = Identity(name) }"""
ROWS = 20_000
score = partial(sx.score, "m.onnx", columns={"x": ["a", "b"]}, keep=["id"])


@pytest.fixture(scope="module", autouse=True)
def cluster() -> Iterator[Cluster]:
    """Two nodes of one processor each on this machine; the driver is on the first."""
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "object_store_memory": 100 << 20})
    cluster.add_node(num_cpus=1, object_store_memory=100 << 20)
    ray.init(cluster.address, log_to_driver=False)
    yield cluster
    ray.shutdown()
    cluster.shutdown()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder: a model, and a folder of three files with a null in row 9."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(ranges, "RANGE_ROWS", 3000)
    sx.save(sx.from_text(MODEL), "m.onnx")
    rng = np.random.default_rng(0)
    a = pa.array(rng.normal(size=ROWS), mask=np.arange(ROWS) == 9)
    names = [f"n{i}" for i in range(ROWS)]
    numbers = np.arange(ROWS)
    table = pa.table({"id": numbers, "a": a, "b": rng.normal(size=ROWS), "name": names, "group": numbers % 3})
    (tmp_path / "in").mkdir()
    for number, (start, end) in enumerate([(0, 7000), (7000, 7001), (7001, ROWS)]):
        pq.write_table(table[start:end], f"in/{number}.parquet", row_group_size=2000)
    return tmp_path


def test_a_cluster_writes_what_one_process_writes(folder: Path, cluster: Cluster) -> None:
    score("in", "local/", rejects="local.jsonl")
    command = "score m.onnx in -o scored/ --rejects bad.jsonl --pack x=a,b --keep id --json --ray".split()
    assert main([*command, cluster.address]) == 0
    assert pq.read_table("scored").equals(pq.read_table("local"))
    assert Path("bad.jsonl").read_text() == Path("local.jsonl").read_text()
    assert json.loads(Path("bad.jsonl").read_text())["row"] == 9
    assert score("in", "local/", rejects="local.jsonl", ray=True).resumed_rows == ROWS


def test_partitions_are_those_that_one_process_writes(folder: Path, cluster: Cluster) -> None:
    keep, groups = ["id", "group"], ["group"]
    score("in", "local/", rejects="local.jsonl", keep=keep, partition_by=groups)
    scored = score("in", "scored/", rejects="bad.jsonl", ray=True, keep=keep, partition_by=groups)
    assert scored.rows == ROWS
    files = sorted(path.relative_to("local") for path in Path("local").glob("group=*/*"))
    assert len(files) == 3
    for file in files:
        assert pq.read_table("scored" / file).equals(pq.read_table("local" / file))
    assert sorted(Path("scored").glob("group=*/*")) == ["scored" / file for file in files]


def test_the_first_bad_row_is_a_typed_error(folder: Path) -> None:
    with pytest.raises(sx.InputError, match="row 9: ") as error:
        score("in", "out.parquet", ray=True)
    assert error.value.name == "source"
    assert not Path("out.parquet").exists()


def test_killed_workers_and_nodes_lose_no_row_and_repeat_none(
    folder: Path, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ranges, "RANGE_ROWS", 100)
    monkeypatch.setattr(scoring, "REPORT_SECONDS", 0.0)
    expected = score("in", defaults={"a": 0}).table
    kills: list[str] = []

    def kill(status: ScoreStatus) -> None:
        if not kills:
            kills.append(kill_a_worker())
        elif len(kills) == 1 and status.rows > ROWS // 3:
            cluster.remove_node(cluster.list_all_nodes()[-1], allow_graceful=False)
            kills.append("node")

    result = score("in", defaults={"a": 0}, batch_rows=4, ray=True, report=kill)
    assert kills == ["worker", "node"]
    assert expected is not None
    assert result.table is not None
    assert result.table.equals(expected)


@pytest.mark.parametrize(("suffix", "format"), [("csv", "csv"), ("jsonl", "json")])
def test_text_is_read_in_ranges_of_bytes(
    suffix: str, format: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("text").mkdir()
    lines = text_lines(pq.read_table("in"), suffix)
    lines[5000] = "no row"
    Path(f"text/0.{suffix}").write_text("\n".join(lines))
    monkeypatch.setattr(ranges, "RANGE_BYTES", 100_000)
    monkeypatch.setattr(parts, "PART_ROWS", 3000)
    run = partial(score, source_format=format, sink_format=format, vectors="columns")
    run("text", "local/", rejects="local.jsonl")
    run("text", "scored/", rejects="bad.jsonl", ray=True)
    assert Path("bad.jsonl").read_text() == Path("local.jsonl").read_text()
    assert len(Path("bad.jsonl").read_text().splitlines()) == 2
    assert text_of("scored", suffix) == text_of("local", suffix)
    last = sorted(Path("scored/_sardonyx").glob("0*.json"))[-1]
    last.unlink()
    resumed = run("text", "scored/", rejects="bad.jsonl", ray=True)
    assert 0 < resumed.resumed_rows < ROWS
    assert text_of("scored", suffix) == text_of("local", suffix)
    assert Path("bad.jsonl").read_text() == Path("local.jsonl").read_text()
    with pytest.raises(sx.InputError, match="row 9: column 'a' is null"):
        score("text", "out.parquet", ray=True, source_format=format)


def text_lines(table: pa.Table, suffix: str) -> list[str]:
    if suffix == "jsonl":
        return [json.dumps(row) for row in table.to_pylist()]
    file = pa.BufferOutputStream()
    pyarrow.csv.write_csv(table, file)
    text: str = file.getvalue().to_pybytes().decode()
    return text.splitlines()


def text_of(folder: str, suffix: str) -> list[str]:
    """The lines of the parts of a folder, without their headers."""
    lines = [path.read_text().splitlines() for path in sorted(Path(folder).glob(f"part-*.{suffix}"))]
    return [line for part in lines for line in (part[1:] if suffix == "csv" else part)]


def test_other_sources_and_clusters_are_refused(folder: Path) -> None:
    with pa.CompressedOutputStream("in.csv.gz", "gzip") as file:
        file.write(b"id,a,b,name\n0,1,2,x\n")
    with pytest.raises(sx.InputError, match=r"without compression; got .*in\.csv\.gz': decompress it"):
        score("in.csv.gz", ray=True)
    with pytest.raises(
        sx.InputError, match=r"cluster that this process has joined, .*; got '127\.0\.0\.1:1'"
    ):
        score("in", ray="127.0.0.1:1")


def test_an_address_on_which_nothing_listens_is_refused_at_once(folder: Path) -> None:
    code = "import sys; from sardonyx._src.cli.main import main; sys.exit(main(sys.argv[1:]))"
    command = "score m.onnx in -o out.parquet --pack x=a,b --ray 127.0.0.1:1".split()
    done = subprocess.run([sys.executable, "-c", code, *command], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "ray must be the address of a cluster that can be reached; got '127.0.0.1:1'" in done.stderr


def kill_a_worker() -> str:
    for raylet in children(os.getpid()):
        for worker in children(raylet):
            title = Path(f"/proc/{worker}/cmdline").read_bytes()
            if b"MapWorker" in title and b"RangeScorer" in title:
                os.kill(worker, signal.SIGKILL)
                return "worker"
    raise AssertionError("no worker of the job is running")


def children(process: int) -> list[int]:
    """The processes that the threads of a process have started."""
    lists = Path(f"/proc/{process}/task").glob("*/children")
    return [int(child) for text in lists for child in text.read_text().split()]
