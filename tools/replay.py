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

The corpus: the shared models, the stored models of the onnx wheel, a seeded selection of its node cases that has every
operator, the networks of bench/zoo, and small networks in several element types.  Requires `os.fork`.
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
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared" / "models"
ZOO = ROOT / ".bench" / "zoo"
SETTINGS = {  # of the recording process; equal hashes make the order of sets equal
    "SARDONYX_CACHE": "",
    "PYTHONHASHSEED": "0",
    "PYTHONDONTWRITEBYTECODE": "1",
    "OPENBLAS_NUM_THREADS": "1",
}
GROUPS = ("shared", "zoo", "typed", "stored", "node")  # of models, in the order of a recording
CASES_PER_OPERATOR = 3
SEED = 0
TIME_LIMIT = 300  # seconds for one model
PROGRESS_INTERVAL = 2.0  # seconds
MAX_DIFFS, MAX_DIFF_LINES = 3, 60
Feeds = dict[str, Any]  # arrays, lists, and other values that `Session.run` takes


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


# --- the corpus -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """A model and the feeds of a run; None for a model that is only compiled."""

    name: str
    model: Path | bytes
    feeds: Callable[[], Feeds | None]


@dataclass(frozen=True)
class Corpus:
    """The models of some groups whose names a pattern finds; zoo: the folder of the networks of bench/zoo."""

    zoo: Path = ZOO
    groups: Sequence[str] = GROUPS
    pattern: str = ""

    def cases(self) -> Iterator[Case]:
        makers: dict[str, Callable[[], Iterator[Case]]] = {
            "shared": shared_models,
            "zoo": partial(zoo_networks, self.zoo),
            "typed": typed_networks,
            "stored": stored_cases,
            "node": node_cases,
        }
        cases = (case for group in self.groups for case in makers[group]())
        return (case for case in cases if re.search(self.pattern, case.name))

    def words(self) -> list[str]:
        """This corpus as options of the command line."""
        return ["--zoo", str(self.zoo), "--groups", ",".join(self.groups), "--models", self.pattern]


def zoo_networks(folder: Path) -> Iterator[Case]:
    for path in sorted(folder.glob("*.onnx")):
        yield Case(f"zoo/{path.stem}", path, lambda: None)


def shared_models() -> Iterator[Case]:
    for folder in sorted(path.parent for path in SHARED.glob("*/model.onnx")):
        yield Case(f"shared/{folder.name}", folder / "model.onnx", partial(shared_feeds, folder))


def shared_feeds(folder: Path) -> Feeds:
    """The inputs that are stored with a shared model; see the README of their folder."""
    with np.load(folder / "ref.npz") as archive:
        values: Feeds = dict(archive)
    if (extra := folder / "ref.json").exists():
        values |= json.loads(extra.read_text())
    feeds = {name.removeprefix("in:"): v for name, v in values.items() if name.startswith("in:")}
    return {
        name: np.array(v["strings"], object).reshape(v["shape"]) if isinstance(v, dict) else v
        for name, v in feeds.items()
    }


def stored_cases() -> Iterator[Case]:
    """The models in files of the onnx wheel: small ones with data, and networks without."""
    import onnx.backend.test
    from onnx.backend.test.loader import load_model_tests

    for kind in ("simple", "pytorch-converted", "pytorch-operator"):
        for case in sorted(load_model_tests(kind=kind), key=lambda case: str(case.name)):
            folder = Path(case.model_dir)
            yield Case(f"stored/{case.name}", folder / "model.onnx", partial(stored_feeds, folder))
    for path in sorted((Path(onnx.backend.test.__file__).parent / "data" / "light").glob("light_*.onnx")):
        yield Case(f"stored/{path.stem}", path, lambda: None)


def stored_feeds(folder: Path) -> Feeds | None:
    """The first data set; None if an input is not a tensor."""
    import onnx

    inputs = onnx.load(folder / "model.onnx").graph.input
    files = sorted((folder / "test_data_set_0").glob("input_*.pb"), key=lambda path: int(path.stem[6:]))
    if not all(port.type.HasField("tensor_type") for port in inputs):
        return None
    tensors = (onnx.load_tensor(path) for path in files)
    return {port.name: onnx.numpy_helper.to_array(t) for port, t in zip(inputs, tensors, strict=False)}


def node_cases() -> Iterator[Case]:
    """Node cases of the onnx wheel in which every operator occurs; each adds an operator that has occurred rarely."""
    from onnx.backend.test.loader import load_model_tests

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the suite computes expected values with overflows
        cases = sorted(load_model_tests(kind="node"), key=lambda case: str(case.name))
    random.Random(SEED).shuffle(cases)
    counts: Counter[tuple[str, str]] = Counter()
    for case in cases:
        operators = {(node.domain, node.op_type) for node in case.model.graph.node}
        if min(map(counts.__getitem__, operators), default=CASES_PER_OPERATOR) < CASES_PER_OPERATOR:
            counts.update(operators)
            names, values = [port.name for port in case.model.graph.input], case.data_sets[0][0]
            yield from variants(f"node/{case.name}", case.model, dict(zip(names, values, strict=False)))


def variants(name: str, model: Any, feeds: Feeds) -> Iterator[Case]:
    """A node case as it is, with constants for all inputs but the first, and of dynamic shape.

    Many kernels are generated for constant weights only, and node cases have inputs instead.
    """
    import onnx

    yield Case(name, model.SerializeToString(), lambda: feeds)
    ports = [*model.graph.input]
    if not feeds or not all(isinstance(v, np.ndarray) and v.dtype.kind in "biuf" for v in feeds.values()):
        return
    first = {ports[0].name: feeds[ports[0].name]}
    if len(ports) > 1:
        for port in ports[1:]:
            model.graph.initializer.append(onnx.numpy_helper.from_array(feeds[port.name], port.name))
        del model.graph.input[1:]
        yield Case(f"{name} (constants)", model.SerializeToString(), lambda: first)
    for axis, dim in enumerate(ports[0].type.tensor_type.shape.dim):
        dim.dim_param = f"d{axis}"
    for port in model.graph.output:
        port.type.tensor_type.ClearField("shape")
    yield Case(f"{name} (dynamic)", model.SerializeToString(), lambda: first)


NETWORKS = {  # T is replaced by an element type; inputs from w on become seeded initializers
    "convolutions": """<ir_version: 8, opset_import: ["": 17]>
convolutions (T[N,3,H,W] x, T[16,3,3,3] w1, T[16,1,3,3] w2, T[24,16,1,1] w3, T[10,24] w4, T[10] w5) => (T[N,10] y) {
  a = Conv<pads = [1,1,1,1], strides = [2,2]>(x, w1)
  b = Relu(a)
  c = Conv<pads = [1,1,1,1], group = 16>(b, w2)
  d = HardSwish(c)
  e = Conv(d, w3)
  f = MaxPool<kernel_shape = [2,2], strides = [2,2]>(e)
  g = GlobalAveragePool(f)
  h = Flatten(g)
  i = Gemm<transB = 1>(h, w4, w5)
  y = Softmax(i)
}""",
    "attention": """<ir_version: 11, opset_import: ["": 23]>
attention (T[B,S,64] x, T[64] w1, T[64] w2, T[64,192] w3, T[64,64] w4) => (T[B,S,64] y) {
  a = LayerNormalization(x, w1, w2)
  b = MatMul(a, w3)
  q, k, v = Split<axis = -1, num_outputs = 3>(b)
  c = Attention<is_causal = 1, q_num_heads = 4, kv_num_heads = 4>(q, k, v)
  d = MatMul(c, w4)
  e = Add(x, d)
  y = Gelu<approximate = "tanh">(e)
}""",
    "quantized": """<ir_version: 10, opset_import: ["": 19]>
quantized (T[N,8,H,W] x, int8[16,8,3,3] w1, int8[16,5] w2) => (T[N,5] y) {
  s = Constant<value = T {0.05}>()
  z = Constant<value = uint8 {128}>()
  axes = Constant<value_ints = [2,3]>()
  a = QuantizeLinear(x, s, z)
  b = DequantizeLinear(a, s, z)
  c = DequantizeLinear(w1, s)
  d = Conv<pads = [1,1,1,1]>(b, c)
  e = Relu(d)
  f = QuantizeLinear(e, s, z)
  g = DequantizeLinear(f, s, z)
  h = ReduceMean<keepdims = 0>(g, axes)
  i = QuantizeLinear(h, s, z)
  j = DequantizeLinear(i, s, z)
  k = DequantizeLinear(w2, s)
  y = MatMul(j, k)
}""",
}
TYPES = {
    "convolutions": ("float", "float16", "bfloat16", "double"),
    "attention": ("float", "float16", "bfloat16"),
    "quantized": ("float",),
}
LENGTHS = {"N": 2, "B": 2, "S": 9, "H": 18, "W": 21}


def warm_up() -> Case:
    """A model whose kernel no other model is likely to have."""
    import onnx.parser

    text = '<ir_version: 8, opset_import: ["": 17]> g (bool[3] x) => (bool[3] y) { y = Not(x) }'
    feeds = {"x": np.zeros(3, np.bool_)}
    return Case("warm-up", onnx.parser.parse_model(text).SerializeToString(), lambda: feeds)


def typed_networks() -> Iterator[Case]:
    """Small networks of dynamic shape in several element types."""
    import onnx.parser

    for name, text in NETWORKS.items():
        for element in TYPES[name]:
            model = onnx.parser.parse_model(re.sub(r"\bT\b", element, text))
            values = {port.name: random_values(port.type.tensor_type) for port in model.graph.input}
            feeds = {"x": values.pop("x")}
            tensors = [onnx.numpy_helper.from_array(value, name) for name, value in values.items()]
            model.graph.initializer.extend(tensors)
            del model.graph.input[1:]
            yield Case(f"typed/{name}_{element}", model.SerializeToString(), partial(dict, feeds))


def random_values(tensor: Any) -> np.ndarray[Any, np.dtype[Any]]:
    """Seeded values of an onnx.TypeProto.Tensor: small integers, or floats around 0."""
    import onnx.helper

    shape = [LENGTHS[dim.dim_param] if dim.dim_param else dim.dim_value for dim in tensor.shape.dim]
    dtype = np.dtype(onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type))
    draw = np.random.default_rng(SEED)
    if dtype.kind in "iu":
        return draw.integers(-20, 20, shape).astype(dtype)
    return (draw.standard_normal(shape) / 4).astype(dtype)


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

    subprocess.Popen = refuse  # type: ignore[assignment,misc]


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
