"""What does it cost to verify each compilation?

    python bench/verifier_cost.py [--only yunet_n_dynamic,mnist_8] [--out PAGE]

Each compilation is that of a session of a shared model, in a fresh process with an empty cache, after the imports.  Compiler:
the processor time of its stages in Python, verifiers left out.  Session: the time until it is open, while LLVM compiles kernels
in other processes.  All processes: their processor time.  Verifiers run in the thread that compiles; the last columns relate
their processor time to each of the three.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from latency import header, line
from measure import run, stamp
from optimizing import MODELS
from shared_models import model_names

PAGE = Path(__file__).resolve().parent.parent / "docs/generated/verifier_cost.md"
RUNS = 5
VERIFIERS = ("verify_regions", "verify_layouts", "verify_program", "verify_memory_plan")
# A program that prints the processor seconds of functions and of all processes, and the seconds until a session is open.
PROGRAM = """
import resource
import sardonyx as sx
from sardonyx._src.compile import pipeline

spent = {{}}

def timed(name):
    original = getattr(pipeline, name)
    def call(*args, **options):
        start = time.thread_time()
        try:
            return original(*args, **options)
        finally:
            spent[name] = spent.get(name, 0) + time.thread_time() - start
    setattr(pipeline, name, call)

for name in ("compile_model", *{verifiers!r}):
    timed(name)
before, start = time.process_time(), time.perf_counter()
sx.Session({path!r})
seconds, processor = time.perf_counter() - start, time.process_time() - before
workers = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps({{**spent, "seconds": seconds, "processor": processor + workers.ru_utime + workers.ru_stime}}))
"""


def measure(name: str, runs: int = RUNS) -> dict[str, float]:
    """The medians of one model over fresh processes; 0 for a verifier that does not run."""
    code = PROGRAM.format(verifiers=VERIFIERS, path=str(MODELS / name / "model.onnx"))
    samples = []
    for _ in range(runs):
        with TemporaryDirectory() as folder:
            samples.append(run(code, {"SARDONYX_CACHE": folder}))
    names = ("compile_model", *VERIFIERS, "seconds", "processor")
    return {key: statistics.median(sample.get(key, 0.0) for sample in samples) for key in names}


def table(costs: Mapping[str, Mapping[str, float]]) -> str:
    columns = (
        "compiler",
        "session",
        "all processes",
        *(v.removeprefix("verify_").replace("_", " ") for v in VERIFIERS),
    )
    shares = ("of compiler", "of session", "of all processes")
    return "\n".join(
        (header("model", *columns, *shares), *(table_row(name, cost) for name, cost in costs.items()))
    )


def table_row(name: str, cost: Mapping[str, float]) -> str:
    verifiers = sum(cost[verifier] for verifier in VERIFIERS)
    wholes = (cost["compile_model"] - verifiers, cost["seconds"], cost["processor"])
    milliseconds: Sequence[float] = (*wholes[:3], *(cost[verifier] for verifier in VERIFIERS))
    shares = (f"{verifiers / whole:.2%}" for whole in wholes)
    return line(name, *(f"{1e3 * seconds:.4g}" for seconds in milliseconds), *shares)


def page(names: Iterable[str]) -> str:
    paragraphs = str(__doc__).split("\n\n")
    introduction = f"Written by `bench/verifier_cost.py`. {paragraphs[0]} Times are in milliseconds."
    costs = {name: measure(name) for name in names}
    return (
        "\n\n".join(
            ("# Cost of the compiler's verifiers", introduction, paragraphs[2].strip(), stamp(), table(costs))
        )
        + "\n"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", help="comma-separated names of shared models")
    parser.add_argument("--out", type=Path, default=PAGE)
    options = parser.parse_args()
    names = options.only.split(",") if options.only else model_names()
    options.out.write_text(page(names))
    print(f"written: {options.out}")


if __name__ == "__main__":
    main()
