"""How long after its process starts does an engine have its first result, and how much memory has it used by then?

The programs are what users write: import, open, run once.  Each is a fresh process, timed by its parent, with the file in the page cache:

- *first*: Sardonyx as a wheel with its kernel libraries, with an empty cache;
- *without library*: the same, but every kernel is compiled, as in a checkout of the sources;
- *again*: with the cache that *first* has left;
- onnxruntime and OpenVINO, which keep nothing, and OpenVINO with the cache of an earlier process.

*Full speed* is when the first of five runs began whose median is within 5 % of that of the last runs of five seconds, with an
empty cache: some kernels are interpreted at first, and compiled meanwhile.

Times are medians in milliseconds.  Memory is the peak of resident memory in MiB, mapped pages included, of the process
alone.  The models are the networks of `zoo.catalogue`, a decoder with weights of 4 bits, whose 0.3 billion
parameters are drawn (`zoo.packed_decoder`), and models that exporters write (`bench/exported.py` makes them).
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from exported import MODELS
from latency import header, line
from measure import BUILD, FOLDER, commit, machine
from starts import files, install
from zoo.catalogue import ENTRIES
from zoo.packed_decoder import decoder_feeds, decoder_path

PAGE = FOLDER.parent / "docs" / "generated" / "process_starts.md"
DECODER = "decoder_4bit"
RUNS = 3
REST = 0.3  # seconds between processes
END = """
ended = time.time()
with open("/proc/self/status") as status:  # ru_maxrss would include the parent's memory before exec
    peak = next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
print(json.dumps([ended, peak * 1024]))
"""
BEGIN = """
import json, sys, time
import numpy as np
path, archive, threads = sys.argv[1], sys.argv[2], int(sys.argv[3])
feeds = dict(np.load(archive))
"""
OURS = """
import sardonyx as sx
sx.Session(path, threads=threads, engine="native").run(feeds)
"""
ONNXRUNTIME = """
import onnxruntime as ort
options = ort.SessionOptions()
options.intra_op_num_threads = threads
ort.InferenceSession(path, options, providers=["CPUExecutionProvider"]).run(None, feeds)
"""
OPENVINO = """
import openvino as ov
ov.compile_model(path, "CPU", {"INFERENCE_NUM_THREADS": threads})(feeds)
"""
OPENVINO_AGAIN = """
import os
import openvino as ov
core = ov.Core()
core.set_property({"CACHE_DIR": os.environ["SARDONYX_CACHE"]})
core.compile_model(path, "CPU", {"INFERENCE_NUM_THREADS": threads})(feeds)
"""
# Prints when the run began from which on runs are as fast as the last ones of the period.
FULL_SPEED = """
import statistics
import sardonyx as sx
session = sx.Session(path, threads=threads, engine="native")
begins, end = [], time.time() + 5
while time.time() < end or len(begins) < 11:
    begins.append(time.time())
    session.run(feeds)
begins.append(time.time())
times = [after - before for before, after in zip(begins, begins[1:])]
last = statistics.median(times[-max(5, len(times) // 5):])
ended = next(b for i, b in enumerate(begins) if statistics.median(times[i : i + 5]) <= 1.05 * last)
print(json.dumps([ended, 0]))
"""
PROGRAMS = {
    "first": OURS + END,
    "without library": OURS + END,
    "again": OURS + END,
    "full speed": FULL_SPEED,
    "onnxruntime": ONNXRUNTIME + END,
    "openvino": OPENVINO + END,
    "openvino again": OPENVINO_AGAIN + END,
}
KEEPS_CACHE = {"again": "first", "openvino again": "openvino again"}  # whose folder a kind finds


@dataclass(frozen=True)
class Start:
    """Medians of one kind of start: seconds until the first result, and bytes at the peak."""

    seconds: float
    bytes: float


def measure_process(kind: str, model: Path, feeds: Path, threads: int, folder: Path) -> Start | None:
    """One start in a fresh process; None if the engine fails.  folder: of the cache and of the installed copies."""
    cache = folder / f"cache of {KEEPS_CACHE.get(kind, kind)}"
    if kind not in KEEPS_CACHE:
        shutil.rmtree(cache, ignore_errors=True)
    copy = folder / ("plain" if kind == "without library" else "installed")
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(copy), "SARDONYX_CACHE": str(cache)}
    command = [sys.executable, "-c", BEGIN + PROGRAMS[kind], str(model), str(feeds), str(threads)]
    time.sleep(REST)
    started = time.time()
    process = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if process.returncode:
        print(f"{kind} fails: {(process.stderr.strip().splitlines() or ['?'])[-1]}", file=sys.stderr)
        return None
    ended, peak = json.loads(process.stdout.splitlines()[-1])
    return Start(ended - started, peak)


def install_copies(folder: Path) -> None:
    """The package as pip installs it, with its kernel libraries and without, with their compiled modules."""
    for name in ("installed", "plain"):
        shutil.copytree(install(), folder / name)
        subprocess.run([sys.executable, "-m", "compileall", "-q", str(folder / name)], check=False)
    shutil.rmtree(
        folder / "plain" / "sardonyx" / "_src" / "compile" / "llvm" / "libraries", ignore_errors=True
    )


def measure(names: Sequence[str], threads: int, runs: int) -> dict[str, dict[str, Start]]:
    """The medians of every kind of start of each model; prints a line for each."""
    results = {}
    BUILD.mkdir(exist_ok=True)
    with TemporaryDirectory(dir=BUILD) as name_of_folder:
        folder = Path(name_of_folder)
        install_copies(folder)
        for name in names:
            model, feeds = inputs_of(name, folder)
            samples: dict[str, list[Start]] = {kind: [] for kind in PROGRAMS}
            measure_process("openvino again", model, feeds, threads, folder)  # fills the cache
            for _ in range(runs):
                for kind in PROGRAMS:
                    sample = measure_process(kind, model, feeds, threads, folder)
                    samples[kind] += [sample] if sample else []
            results[name] = {kind: median(starts) for kind, starts in samples.items() if starts}
            shown = {
                kind: (round(s.seconds * 1e3), round(s.bytes / 2**20)) for kind, s in results[name].items()
            }
            print(json.dumps({"model": name, "threads": threads, **shown}), flush=True)
    return results


def inputs_of(name: str, folder: Path) -> tuple[Path, Path]:
    """The path of a model, and of an archive of its feeds."""
    archive = folder / "feeds.npz"
    shutil.rmtree(folder / "cache of openvino again", ignore_errors=True)
    if name in exported():
        return exported()[name], exported()[name].with_suffix(".npz")
    if name == DECODER:
        np.savez(archive, allow_pickle=False, **decoder_feeds())
        return decoder_path(), archive
    np.savez(archive, allow_pickle=False, **ENTRIES[name].feeds())
    return ENTRIES[name].path(), archive


@cache
def exported() -> dict[str, Path]:
    """The models that exporters have written, by name."""
    return {path.stem: path for path in sorted(MODELS.glob("*/*.onnx"))}


def median(starts: Sequence[Start]) -> Start:
    return Start(
        statistics.median(start.seconds for start in starts),
        statistics.median(start.bytes for start in starts),
    )


def page(results: Mapping[str, Mapping[str, Start]], threads: int, runs: int) -> str:
    lines = [header("model", *PROGRAMS, "onnxruntime over first")]
    for name, starts in results.items():
        cells = [cell(starts.get(kind)) for kind in PROGRAMS]
        first, peer = starts.get("first"), starts.get("onnxruntime")
        lines.append(line(name, *cells, f"{peer.seconds / first.seconds:.2f}" if first and peer else ""))
    about = (__doc__ or "").strip()
    facts = f"{machine()}; {threads} threads; {runs} processes of each kind; commit {commit()}."
    return "\n\n".join(["# The first result of a process", about, facts, "\n".join(lines)]) + "\n"


def cell(start: Start | None) -> str:
    if start is None:
        return "fails"
    memory = f", {start.bytes / 2**20:.0f}" if start.bytes else ""
    return f"{start.seconds * 1e3:.0f} ms{memory}"


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--only", help="names of models, separated by semicolons; the page is not written")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1, help="threads (%(default)s)")
    parser.add_argument("--runs", type=int, default=RUNS, help="fresh processes of each kind (%(default)s)")
    args = parser.parse_args()
    names = args.only.split(";") if args.only else [*files(), DECODER, *exported()]
    text = page(measure(names, args.threads, args.runs), args.threads, args.runs)
    print(text) if args.only else PAGE.write_text(text)


if __name__ == "__main__":
    main()
