"""Process replay: proves that a refactoring changes no instruction that the native engine generates.

    python tools/replay.py --base COMMIT                  # this tree against a commit
    python tools/replay.py record OUT.json [--src DIR]    # the modules that the sources in DIR generate
    python tools/replay.py compare A.json B.json

The idea is tinygrad's process replay: a corpus of models is compiled by two versions, and what the code generators hand
to the compiler must be equal, text by text.  A recording has, for each model, the LLVM module texts given to
`llvmlite.binding.parse_assembly` and a digest of the outputs of one run; it depends on public names only, so that trees
of any layout can be compared.  `compare` exits with 1 if a model's multiset of texts or its outputs differ.

Digests in symbols, such as the names of kernels, and the names of values and blocks are numbered in order of appearance: a
cache key may be spelled differently.  Each model is compiled in a forked process, since a process compiles equal kernels once.  Texts are recorded
before optimization, and LLVM's passes are skipped.  Outputs of unoptimized code compare only with each other, on one machine.

The corpus of models is in `replay_corpus.py`.  Requires `os.fork`.
"""

from __future__ import annotations

import argparse
import difflib
import gc
import hashlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np

from replay_corpus import GROUPS, ROOT, SEED, ZOO, Case, Corpus, warm_up

SETTINGS = {  # of the recording process; equal hashes make the order of sets equal
    "SARDONYX_CACHE": "",
    "PYTHONHASHSEED": "0",
    "PYTHONDONTWRITEBYTECODE": "1",
    "OPENBLAS_NUM_THREADS": "1",
}
TIME_LIMIT = 300  # seconds for one model
PROGRESS_INTERVAL = 2.0  # seconds
MAX_DIFFS, MAX_DIFF_LINES = 3, 60


# --- recordings -----------------------------------------------------------------------------


@dataclass(frozen=True)
class ModelRecord:
    """The modules of one model, as digests of their texts in the order of compilation.

    status: "compiled"; "unsupported" if the native engine rejects the model; "crashed" if the process died.
    outputs: a digest of the outputs of a run; None if the model was not run or the run raised an error.
    """

    status: str
    modules: list[str] = field(default_factory=list)
    outputs: str | None = None


@dataclass
class Recording:
    """The modules that a source tree generates for a corpus of models."""

    models: dict[str, ModelRecord] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)  # by digest

    def add(self, name: str, status: str, texts: Iterable[str], outputs: str | None) -> None:
        """Add a model; texts: of its modules, as they were parsed."""
        normalized = [normalize(text) for text in texts]
        modules = [digest(text) for text in normalized]
        self.texts.update(zip(modules, normalized, strict=True))
        self.models[name] = ModelRecord(status, modules, outputs)

    def save(self, path: Path) -> None:
        models = {name: asdict(model) for name, model in self.models.items()}
        path.write_text(json.dumps({"models": models, "texts": self.texts}), "utf-8")

    @classmethod
    def load(cls, path: Path) -> Recording:
        document = json.loads(path.read_text("utf-8"))
        models = {name: ModelRecord(**model) for name, model in document["models"].items()}
        return cls(models, document["texts"])


GLOBAL = re.compile(r'@"?[\w.$-]+')
LOCAL = re.compile(r"%[\w.$-]+|^[\w.$-]+(?=:)", re.MULTILINE)  # values, and labels where they are defined
HASH = re.compile(r"(?<![0-9A-Za-z])[0-9a-f]{16,}(?![0-9A-Za-z])")


def normalize(text: str) -> str:
    """The text of a module with digests in symbols, and the names of values and blocks, numbered in order of appearance."""
    digests: dict[str, str] = {}
    locals_: dict[str, str] = {}

    def number_digest(match: re.Match[str]) -> str:
        return digests.setdefault(match[0], f"#{len(digests)}")

    def number_local(match: re.Match[str]) -> str:
        sign = "%" if match[0].startswith("%") else ""
        return sign + locals_.setdefault(match[0].removeprefix("%"), f"n{len(locals_)}")

    return LOCAL.sub(number_local, GLOBAL.sub(lambda symbol: HASH.sub(number_digest, symbol[0]), text))


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]


# --- comparison -----------------------------------------------------------------------------


def compare(a: Recording, b: Recording) -> int:
    """Print how two recordings differ; the exit code: 0 if they are equal."""
    pairs: list[tuple[str, str]] = []  # nearest texts
    names = [*a.models, *(name for name in b.models if name not in a.models)]
    differing = 0
    for name in names:
        lines = list(differences(name, a, b, pairs))
        differing += bool(lines)
        for line in lines:
            print(f"{name}: {line}")
    for old, new in [*dict.fromkeys(pairs)][:MAX_DIFFS]:
        print_diff(old, new)
    modules = sum(len(model.modules) for model in a.models.values())
    if differing:
        print(f"{differing} of {len(names)} models differ")
        return 1
    print(f"{modules} modules of {len(names)} models: equal")
    return 0


def differences(name: str, a: Recording, b: Recording, pairs: list[tuple[str, str]]) -> Iterator[str]:
    """Sentences on one model; appends the nearest texts of modules that are in one recording only to `pairs`."""
    left, right = a.models.get(name), b.models.get(name)
    if left is None or right is None:
        yield f"recorded in {'B' if left is None else 'A'} only"
        return
    if left.status != right.status:
        yield f"{left.status} in A, {right.status} in B"
    removed = Counter(left.modules) - Counter(right.modules)
    added = Counter(right.modules) - Counter(left.modules)
    if removed or added:
        yield f"{removed.total()} modules in A only, {added.total()} in B only"
        if len(pairs) < MAX_DIFFS:
            pairs += nearest([a.texts[key] for key in removed], [b.texts[key] for key in added])
    elif left.outputs != right.outputs:
        yield "the modules are equal and the outputs differ"


def nearest(removed: Sequence[str], added: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Each removed text with the added text that has most lines in common with it; "" if there is none."""
    rest = {text: Counter(text.splitlines()) for text in added}
    for text in removed[:MAX_DIFFS]:
        lines = Counter(text.splitlines())
        best = max(rest, key=lambda other: (lines & rest[other]).total(), default="")
        rest.pop(best, None)
        yield text, best
    for text in [*rest][: MAX_DIFFS if not removed else 0]:
        yield "", text


def print_diff(old: str, new: str) -> None:
    lines = [*difflib.unified_diff(old.splitlines(), new.splitlines(), "A", "B", n=2, lineterm="")]
    print("\n".join(lines[:MAX_DIFF_LINES]))
    if len(lines) > MAX_DIFF_LINES:
        print(f"... {len(lines) - MAX_DIFF_LINES} more lines")


# --- recording ------------------------------------------------------------------------------


class ModuleLog:
    """The texts that this process has given to LLVM; while it is installed, code is not optimized."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def install(self) -> None:
        """Replace functions of llvmlite; to be called before the sources are imported."""
        import llvmlite.binding as llvm
        from llvmlite.binding import newpassmanagers

        parse, create = llvm.parse_assembly, llvm.Target.create_target_machine

        def parse_assembly(text: str, *args: object, **options: object) -> object:
            self.texts.append(text)
            return parse(text, *args, **options)

        def create_target_machine(target: object, *args: object, **options: object) -> object:
            return create(target, *args, **{**options, "opt": 0})

        llvm.parse_assembly = llvm.module.parse_assembly = parse_assembly
        llvm.Target.create_target_machine = create_target_machine
        for manager in (newpassmanagers.ModulePassManager, newpassmanagers.FunctionPassManager):
            manager.run = lambda *_: None


def stay_alone() -> None:
    """Prevent worker processes, whose modules would not be recorded: one processor, and no subprocesses."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {random.choice([*os.sched_getaffinity(0)])})

    def refuse(*_: object, **__: object) -> None:
        raise OSError("a recording process must not start another process")

    subprocess.Popen = refuse  # type: ignore[assignment,misc]  # a function for the class


def record_here(out: Path, source: Path, corpus: Corpus) -> int:
    """Record the corpus in this process, which must have been started for it."""
    gc.disable()  # a collection in a child would copy the pages of its parent
    log = ModuleLog()
    log.install()
    stay_alone()
    import sardonyx

    assert sardonyx.__file__ is not None and Path(sardonyx.__file__).is_relative_to(source), sardonyx.__file__
    recording = Recording()
    recording.add("warm-up", *run_case(warm_up(), log))  # what all programs share is compiled once, here
    assert recording.texts, "the engine does not call llvmlite.binding.parse_assembly"
    start = shown = time.monotonic()
    for count, case in enumerate(corpus.cases()):
        assert case.name not in recording.models, f"names of models must be unique; got {case.name} twice"
        recording.add(case.name, *fork_case(case, log))
        if time.monotonic() > shown + PROGRESS_INTERVAL:
            shown = time.monotonic()
            print(f"\r{shown - start:4.0f} s, {count + 1} models, {case.name:50.50}", end="", file=sys.stderr)
    recording.save(out)
    statuses = Counter(model.status for model in recording.models.values())
    modules = sum(len(model.modules) for model in recording.models.values())
    summary = ", ".join(f"{n} {status}" for status, n in sorted(statuses.items()))
    print(f"\r{source}: {modules} modules ({len(recording.texts)} texts), models: {summary}")
    return 0


Outcome = tuple[str, list[str], str | None]  # a status, texts of modules, and a digest of outputs


def run_case(case: Case, log: ModuleLog) -> Outcome:
    """Compile and run a model in this process."""
    import sardonyx as sx

    log.texts.clear()
    try:
        session = sx.Session(case.model, engine="native", threads=1, seed=SEED)
    except sx.SardonyxError:
        return "unsupported", [], None
    outputs = None
    try:
        if (feeds := case.feeds()) is not None:
            outputs = digest(repr(describe(session.run(feeds))))
    except sx.SardonyxError:
        pass  # some cases of the wheel have feeds of other types than their models declare
    return "compiled", log.texts, outputs


def describe(value: object) -> object:
    """A value as something whose `repr` is exact."""
    match value:
        case np.ndarray() if value.dtype.kind not in "OSU":
            return value.dtype.name, value.shape, hashlib.sha256(value.tobytes()).hexdigest()
        case np.ndarray():
            return value.shape, value.tolist()
        case dict():
            return [(key, describe(item)) for key, item in value.items()]
        case list():
            return [*map(describe, value)]
    return value


def fork_case(case: Case, log: ModuleLog) -> Outcome:
    """Compile and run a model in a child process, which has nothing of the other models."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.close(reader)
            signal.alarm(TIME_LIMIT)
            with os.fdopen(writer, "w", encoding="utf-8") as pipe, warnings.catch_warnings():
                warnings.simplefilter("ignore")
                json.dump(run_case(case, log), pipe)
            status = 0
        finally:
            os._exit(status)
    os.close(writer)
    with os.fdopen(reader, encoding="utf-8") as pipe:
        content = pipe.read()
    _, code = os.waitpid(child, 0)
    if code:
        print(f"\r{case.name}: the process ended with status {code}{'':40}", file=sys.stderr)
        return "crashed", [], None
    status_, texts, outputs = json.loads(content)
    return status_, texts, outputs


# --- commands -------------------------------------------------------------------------------


def record(out: Path, source: Path, corpus: Corpus) -> None:
    """Record in a new process, in which `source` comes first on the module search path; exits if that fails."""
    words = ["record-here", str(out), "--src", str(source.resolve()), *corpus.words()]
    path = os.pathsep.join(filter(None, [str(source.resolve()), os.environ.get("PYTHONPATH", "")]))
    environment = {**os.environ, **SETTINGS, "PYTHONPATH": path}
    command = [sys.executable, str(Path(__file__).resolve()), *words]
    if subprocess.run(command, check=False, env=environment).returncode:
        raise SystemExit(f"{source} could not be recorded")


def make_zoo() -> None:
    """Make the networks of bench/zoo if there are none."""
    if not any(ZOO.glob("*.onnx")):
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
        subprocess.run([sys.executable, "-m", "zoo"], cwd=ROOT / "bench", env=environment, check=True)


@contextmanager
def worktree(commit: str) -> Iterator[Path]:
    """The files of a commit, in a temporary folder."""
    folder = Path(tempfile.mkdtemp(prefix="replay_"))
    git = ["git", "-C", str(ROOT), "worktree"]
    try:
        subprocess.run([*git, "add", "--quiet", "--detach", str(folder / "tree"), commit], check=True)
        yield folder / "tree"
    finally:
        subprocess.run([*git, "remove", "--force", str(folder / "tree")], check=False)
        shutil.rmtree(folder, ignore_errors=True)


def replay(commit: str, corpus: Corpus) -> int:
    """Record a commit and this tree, and compare."""
    with worktree(commit) as tree:
        paths = [tree.parent / "base.json", tree.parent / "this.json"]
        for source, path in zip((tree / "src", ROOT / "src"), paths, strict=True):
            record(path, source, corpus)
        return compare(*map(Recording.load, paths))


def arguments(words: Sequence[str] | None) -> argparse.Namespace:
    raw = argparse.RawDescriptionHelpFormatter
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--zoo", type=Path, default=ZOO, help="a folder of networks (%(default)s)")
    common.add_argument(
        "--groups", default=",".join(GROUPS), help="comma-separated groups of models (%(default)s)"
    )
    common.add_argument("--models", default="", help="a regular expression that model names are searched for")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw, parents=[common])
    parser.add_argument("--base", metavar="COMMIT", help="compare this tree with a commit")
    commands = parser.add_subparsers(dest="command")
    for name in ("record", "record-here"):
        command = commands.add_parser(name, parents=[common])
        command.add_argument("out", type=Path)
        command.add_argument("--src", type=Path, default=ROOT / "src", help="the sources (%(default)s)")
    command = commands.add_parser("compare")
    command.add_argument("a", type=Path)
    command.add_argument("b", type=Path)
    options = parser.parse_args(words)
    if (options.base is None) == (options.command is None):
        parser.error("expected either a command or --base")
    return options


def main(words: Sequence[str] | None = None) -> int:
    """The exit code of a command line."""
    options = arguments(words)
    if options.command == "compare":
        return compare(Recording.load(options.a), Recording.load(options.b))
    corpus = Corpus(options.zoo, options.groups.split(","), options.models)
    if options.command == "record-here":
        return record_here(options.out, options.src, corpus)
    if corpus.zoo == ZOO and "zoo" in corpus.groups:
        make_zoo()
    if options.base is not None:
        return replay(options.base, corpus)
    record(options.out, options.src, corpus)
    return 0


if __name__ == "__main__":
    sys.exit(main())
