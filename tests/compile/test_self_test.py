"""The self-test of classes of processors: a class that fails is not used, once a warning has named it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

import sardonyx as sx
from sardonyx._src.compile.linker.features import saved_program_machine
from sardonyx._src.compile.llvm import probes as runner
from sardonyx._src.compile.llvm import self_test as tests_of_classes
from sardonyx._src.compile.llvm.cache import ObjectCache
from sardonyx._src.compile.llvm.host_target import linux_features, vendor
from sardonyx._src.compile.llvm.jit import host_target
from sardonyx._src.compile.llvm.probe_process import ProbeFault
from sardonyx._src.compile.llvm.self_test import (
    SelfTest,
    first_sound_class,
    recorded_self_test,
    require_sound_class,
    self_test,
)
from sardonyx._src.compile.llvm.target_classes import CLASSES_BY_NAME, classes_of
from sardonyx._src.runtime.saved_programs.writing import save_compiled

MACHINE = saved_program_machine() or ""
pytestmark = pytest.mark.skipif(not MACHINE, reason="probes are for Linux")
CLASSES = classes_of(linux_features(MACHINE), vendor(), MACHINE) if MACHINE else []
NAMES = [target_class.name for target_class in CLASSES]
OTHER = "x86-64" if MACHINE == "aarch64" else "aarch64"  # a class of another kind of machine
FAULT = ProbeFault("fma float", "gives wrong values")
MODEL = '<ir_version: 10, opset_import: ["": 21]> g (float[N] x) => (float[N] y) { y = Mul(x, x) }'

# Opens a session in a process in which the probes of some classes expect wrong values, and some features are pretended.
SCRIPT = """
import json, logging, sys
from dataclasses import replace
import numpy as np
import sardonyx as sx
from sardonyx._src.compile.llvm import host_target, probes
model, failing, features = json.loads(sys.argv[1])
read, described, calls = probes.read_probes, host_target.linux_features, []
def read_wrong(path, name):
    calls.append(name)
    right = read(path, name)
    return replace(right, data=bytes(len(right.data))) if name in failing else right
probes.read_probes = read_wrong
host_target.linux_features = lambda machine="": described(machine or "x86_64") | set(features)
logging.basicConfig(format="%(message)s", stream=sys.stdout)
session = sx.Session(model, engine="native")
x = np.arange(100, dtype=np.float32)
assert (session.run({"x": x})["y"] == x * x).all()
print("class", host_target.host_class().name, "tested" if calls else "recorded")
"""


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ObjectCache]:
    folder = ObjectCache(tmp_path / "cache")
    monkeypatch.setattr(tests_of_classes, "default_cache", lambda: folder)
    self_test.cache_clear()
    yield folder
    monkeypatch.undo()
    self_test.cache_clear()


@pytest.fixture
def fail(cache: ObjectCache, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """A function that makes classes fail; it returns a list that will have the classes whose probes have run."""

    def set_failing(*names: str) -> list[str]:
        ran: list[str] = []

        def run(name: str) -> ProbeFault | None:
            ran.append(name)
            return FAULT if name in names else None

        monkeypatch.setattr(runner, "run_class_probes", run)
        return ran

    return set_failing


def start(
    folder: Path, failing: Sequence[str], features: Sequence[str] = (), target: str = ""
) -> subprocess.Popen[str]:
    """A process that opens a session with this cache folder, and runs it."""
    folder.mkdir(parents=True, exist_ok=True)
    model = folder.parent / "model.onnx"
    if not model.exists():
        sx.save(sx.from_text(MODEL), model)
    environment = {**os.environ, "SARDONYX_CACHE": str(folder), "SARDONYX_TARGET": target}
    arguments = [sys.executable, "-c", SCRIPT, json.dumps([str(model), failing, features])]
    return subprocess.Popen(
        arguments, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def lines_of(process: subprocess.Popen[str]) -> list[str]:
    output, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    return output.splitlines()


def test_the_best_class_is_used_without_a_word(
    fail: Callable[..., list[str]], caplog: pytest.LogCaptureFixture
) -> None:
    ran = fail()
    assert first_sound_class(CLASSES) == CLASSES[0] and first_sound_class(CLASSES) == CLASSES[0]
    assert (ran, caplog.messages) == ([NAMES[0]], [])


def test_the_next_class_replaces_one_that_fails(
    fail: Callable[..., list[str]], caplog: pytest.LogCaptureFixture
) -> None:
    ran = fail(*NAMES[:2])
    assert first_sound_class(CLASSES) == CLASSES[2]
    assert ran == NAMES[:3]
    assert caplog.messages == [
        f"this processor fails the self-test of {NAMES[i]}: {FAULT}; code for {NAMES[i + 1]} is used instead"
        for i in range(2)
    ]


def test_a_processor_of_which_every_class_fails_is_not_supported(
    fail: Callable[..., list[str]], caplog: pytest.LogCaptureFixture
) -> None:
    fail(*NAMES)
    with pytest.raises(sx.UnsupportedProcessor, match='use engine="reference"'):
        first_sound_class(CLASSES)
    assert caplog.messages[-1].endswith("no class is left")
    assert first_sound_class([]) is None  # a processor of no class


def test_a_required_class_that_fails_is_an_error(fail: Callable[..., list[str]]) -> None:
    fail(NAMES[0])
    with pytest.raises(
        sx.UnsupportedProcessor, match=f"SARDONYX_TARGET must be .*{NAMES[0]}.*fma float gives wrong"
    ):
        require_sound_class(NAMES[0], "SARDONYX_TARGET")
    require_sound_class(NAMES[-1], "SARDONYX_TARGET")


@pytest.mark.parametrize("failing", [[], [NAMES[0] if NAMES else ""]])
def test_the_outcome_is_recorded(failing: list[str], fail: Callable[..., list[str]]) -> None:
    ran = fail(*failing)
    assert recorded_self_test(NAMES[0]) is None
    outcome = self_test(NAMES[0])
    assert outcome == SelfTest(NAMES[0], str(FAULT) if failing else "")
    self_test.cache_clear()  # as in another process
    assert self_test(NAMES[0]) == recorded_self_test(NAMES[0]) == outcome
    assert ran == [NAMES[0]]


@pytest.mark.parametrize("part", ["microcode\t: 0x1", "processor: 0\nvendor_id\t: another"])
def test_another_processor_or_microcode_is_tested_again(
    part: str, fail: Callable[..., list[str]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    fail(NAMES[0])
    self_test(NAMES[0])
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text(part)
    monkeypatch.setattr(tests_of_classes, "CPUINFO", cpuinfo)
    tests_of_classes.processor_description.cache_clear()
    self_test.cache_clear()
    ran = fail()
    assert self_test(NAMES[0]).fault == "" and ran == [NAMES[0]]
    monkeypatch.undo()
    tests_of_classes.processor_description.cache_clear()


def test_a_truncated_record_is_replaced(fail: Callable[..., list[str]], cache: ObjectCache) -> None:
    ran = fail(NAMES[0])
    expected = self_test(NAMES[0])
    (path,) = cache.folder.glob("*.o")
    content = path.read_bytes()
    for size in (0, 5, len(content) - 1):
        path.write_bytes(content[:size])
        self_test.cache_clear()
        assert self_test(NAMES[0]) == expected
        assert path.read_bytes() == content
    assert ran == [NAMES[0]] * 4


@pytest.mark.parametrize("has_folder", [False, True])
def test_without_a_cache_each_process_tests_its_class_once(
    has_folder: bool, fail: Callable[..., list[str]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    unwritable = ObjectCache(tmp_path / "file" / "cache") if has_folder else None
    monkeypatch.setattr(tests_of_classes, "default_cache", lambda: unwritable)
    ran = fail()
    assert [self_test(NAMES[0]) for _ in range(3)] == [SelfTest(NAMES[0], "")] * 3
    assert ran == [NAMES[0]]


# --- sessions --------------------------------------------------------------------------------


@pytest.mark.skipif(len(CLASSES) < 2, reason="the processor is of one class")
def test_a_session_uses_the_next_class_with_right_results(tmp_path: Path) -> None:
    """The next process reads the outcome, warns too, and runs no probes."""
    folder = tmp_path / "cache"
    warning = f"this processor fails the self-test of {NAMES[0]}: fdiv float gives wrong values; code for {NAMES[1]} is used instead"
    for kind in ("tested", "recorded"):
        first, last = lines_of(start(folder, NAMES[:1]))
        assert (first, last) == (warning, f"class {NAMES[1]} {kind}")


@pytest.mark.skipif(
    MACHINE != "x86_64" or "amx-tile" in linux_features(), reason="pretends that x86-64 has AMX"
)
def test_a_wrong_table_of_features_is_noticed(tmp_path: Path) -> None:
    """Instructions that the processor refuses end a child process, not this one."""
    pretended = CLASSES_BY_NAME["x86-64-v4-amx"].features
    expected = classes_of({*linux_features(), *pretended}, vendor())
    *warnings, last = lines_of(start(tmp_path / "cache", [], pretended))
    tested = [c.name for c in expected if c.name not in NAMES]
    assert len(warnings) == len(tested) > 0
    for warning, name in zip(warnings, tested, strict=True):
        assert re.fullmatch(
            rf"this processor fails the self-test of {name}: .* ends with SIGILL; code for .*", warning
        )
    assert last == f"class {NAMES[0]} tested"


def test_a_class_that_is_asked_for_by_name_is_not_replaced(tmp_path: Path) -> None:
    process = start(tmp_path / "cache", NAMES[-1:], target=NAMES[-1])
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 1
    assert (
        "UnsupportedProcessor: SARDONYX_TARGET must be for a class of processors whose self-test succeeds"
        in errors
    )


@pytest.mark.parametrize(
    ("target", "error", "has_cache"),
    [("haswell", "InputError", True), (OTHER, "UnsupportedProcessor", False)],
)
def test_no_engine_hides_a_wrong_class(target: str, error: str, has_cache: bool, tmp_path: Path) -> None:
    """The default engine, too, whether the model is a file or not."""
    sx.save(sx.from_text(MODEL), tmp_path / "model.onnx")
    code = "import sys, sardonyx as sx\n"
    code += "for model in sys.argv[1], sx.load(sys.argv[1]):\n"
    code += "    try: print(sx.Session(model).engine)\n"
    code += "    except sx.SardonyxError as error: print(type(error).__name__)\n"
    code += "print(sx.Session(model, engine='reference').engine)"
    folder = str(tmp_path / "cache") if has_cache else ""
    environment = {**os.environ, "SARDONYX_CACHE": folder, "SARDONYX_TARGET": target}
    command = [sys.executable, "-c", code, str(tmp_path / "model.onnx")]
    process = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert process.stdout.split() == [error, error, "reference"]


def test_damaged_probes_are_a_warning_of_the_default_engine(tmp_path: Path) -> None:
    (tmp_path / "probes").write_bytes(b"")
    code = "import logging, sys, pathlib, sardonyx as sx\n"
    code += "logging.basicConfig(format='%(message)s', stream=sys.stdout)\n"
    code += "from sardonyx._src.compile.llvm import probes\n"
    code += "probes.PROBES_PATH = pathlib.Path(sys.argv[1])\n"
    code += f"print(sx.Session(sx.from_text({MODEL!r})).engine)"
    command = [sys.executable, "-c", code, str(tmp_path / "probes")]
    environment = {**os.environ, "SARDONYX_CACHE": "", "SARDONYX_TARGET": ""}
    process = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    warning, engine = process.stdout.splitlines()
    assert "install Sardonyx again" in warning and engine == "reference"


def test_two_processes_at_once_agree(tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    processes = [start(folder, NAMES[:1]) for _ in range(2)]
    assert [lines_of(process)[-1].split()[1] for process in processes] == [NAMES[1]] * 2
    assert lines_of(start(folder, NAMES[:1]))[-1] == f"class {NAMES[1]} recorded"


def test_a_saved_program_of_a_class_that_fails_is_refused(
    cache: ObjectCache, fail: Callable[..., list[str]], tmp_path: Path
) -> None:
    path = tmp_path / "m.sdx"
    save_compiled(sx.from_text(MODEL), path)
    name = host_target().class_name
    self_test.cache_clear()
    for record in cache.folder.glob("*.o"):
        record.unlink()
    ran = fail()
    result = sx.Session(path).run({"x": np.full(1, 3, np.float32)})["y"]
    assert np.asarray(result).tolist() == [9] and ran == [name]
    self_test.cache_clear()
    (record,) = cache.folder.glob("*.o")
    record.unlink()
    fail(name)
    with pytest.raises(
        sx.UnsupportedProcessor, match=rf"m\.sdx must be for .* got '{name}', of which fma float gives"
    ):
        sx.Session(path)
