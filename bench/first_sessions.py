"""Where does the processor time of a process's first session go, after all imports?

Each session is in a fresh process that has imported what it needs; kernels are compiled, programs are not.  Times are
the shortest of several processes in milliseconds of processor time of the main thread, of each stage without the stages
that it calls.  The digest of the sources is computed in a checkout only, by which sessions run here.  Writing the entry
of the cache includes packing the weights, so that its time depends on their bytes.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from latency import header, line
from measure import FOLDER, commit, machine
from zoo.catalogue import ENTRIES

PAGE = FOLDER.parent / "docs" / "generated" / "first_sessions.md"
SHARED = FOLDER.parent.parent / "shared" / "models"
MODELS = ["squeezenet", "densenet121", "bert_base", "encoder_1x16", "mobilenet_qdq_maui", "picodet_s_320"]
RUNS = 5


@dataclass(frozen=True)
class Profile:
    """Seconds of a first session by stage, and in all."""

    nodes: int
    stages: Mapping[str, float]
    session: float


def measure(name: str, runs: int) -> Profile:
    """The shortest times of a model, one process after the other; the first two compile kernels and list modules."""
    with TemporaryDirectory() as folder_name:
        folder = Path(folder_name)
        model, feeds = inputs_of(name, folder)
        modules = folder / "modules.json"
        for _ in range(2):
            modules.write_text(json.dumps(start(folder, model, feeds)["modules"]))
        samples = [start(folder, model, feeds, modules) for _ in range(runs)]
    stages = {stage: min(sample["stages"][stage] for sample in samples) for stage in samples[0]["stages"]}
    return Profile(count_nodes(model), stages, min(sample["session"] for sample in samples))


def start(folder: Path, *arguments: Path) -> Any:
    """What a fresh process measures that finds kernels in the cache, and no programs."""
    cache = folder / "cache"
    shutil.rmtree(cache / "programs", ignore_errors=True)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    program = [sys.executable, str(FOLDER / "session_stages.py"), *map(str, arguments)]
    done = subprocess.run(
        program, env=environment | {"SARDONYX_CACHE": str(cache)}, capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout.splitlines()[-1])


def inputs_of(name: str, folder: Path) -> tuple[Path, Path]:
    """The path of a model, and of an archive of its feeds."""
    archive = folder / "feeds.npz"
    if name in ENTRIES:
        np.savez(archive, allow_pickle=False, **ENTRIES[name].feeds())
        return ENTRIES[name].path(), archive
    with np.load(SHARED / name / "ref.npz") as stored:
        feeds = {key.removeprefix("in:"): stored[key] for key in stored if key.startswith("in:")}
    np.savez(archive, allow_pickle=False, **feeds)
    return SHARED / name / "model.onnx", archive


def count_nodes(path: Path) -> int:
    import sardonyx as sx
    from sardonyx._src.rewrite.report import count_nodes

    return count_nodes(sx.load(path))


def table(profiles: Mapping[str, Profile]) -> str:
    """A row for each stage, a column for each model."""
    lines = [header("stage", *profiles)]
    lines.append(line("nodes", *(str(profile.nodes) for profile in profiles.values())))
    for stage in next(iter(profiles.values())).stages:
        lines.append(line(stage, *(f"{p.stages[stage] * 1e3:.1f}" for p in profiles.values())))
    lines.append(line("all", *(f"{p.session * 1e3:.0f}" for p in profiles.values())))
    lines.append(line("a node", *(f"{p.session * 1e3 / p.nodes:.2f}" for p in profiles.values())))
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--only", help="comma-separated names of models; the page is not written")
    parser.add_argument("--runs", type=int, default=RUNS, help="fresh processes of each model (%(default)s)")
    args = parser.parse_args()
    names = args.only.split(",") if args.only else MODELS
    text = table({name: measure(name, args.runs) for name in names})
    facts = f"{machine()}; {args.runs} processes of each model; commit {commit()}."
    page = "\n\n".join(["# The work of a first session", (__doc__ or "").strip(), facts, text]) + "\n"
    print(text) if args.only else PAGE.write_text(page)


if __name__ == "__main__":
    main()
