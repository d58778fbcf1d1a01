"""Kernels compiled by other processes: the same code, whatever becomes of them."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from compile.test_jit import TWICE, twice
from sardonyx._src.compile.llvm import ahead, children, compiler, jit
from sardonyx._src.compile.llvm.cache import Cache
from sardonyx._src.compile.llvm.children import Children, Job, question
from sardonyx._src.compile.llvm.jit import Library, compiled, host

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there are no children there")
TEXTS = [TWICE.replace("twice", f"twice{i}").replace("fadd", "fmul" if i % 2 else "fadd") for i in range(6)]
NONSENSE = "import sys; sys.stdout.write('hello' * 100); sys.stdout.flush(); sys.stdin.read()"
TALKS_THEN = """
import sys; sys.path.insert(0, {folder!r}); sys.argv = ["compiler.py", {packages!r}]
import compiler, os
def answer(answers, kind, content, original=compiler.answer):
    if kind == compiler.FACTS: return original(answers, kind, content)
    {then}
compiler.answer = answer
compiler.main()
"""


@pytest.fixture
def pair() -> Iterator[Children]:
    found = Children(2)
    yield found
    found.end()


def jobs(texts: list[str], *, quick: bool = False) -> list[Job]:
    return [Job(question(text, host(), quick=quick)) for text in texts]


def done(found: Children, wanted: list[Job]) -> list[Job]:
    """The jobs once they are done, at the latest after a minute."""
    for job in wanted:
        found.add(job)
    assert all(job.done.wait(60) for job in wanted)
    return wanted


def stand_in(then: str) -> list[str]:
    """The command of a child that says who it is, and does something else than answer."""
    *_, file, packages = children.command()
    code = TALKS_THEN.format(folder=str(Path(file).parent), packages=packages, then=then)
    return [sys.executable, "-I", "-c", code]


@pytest.mark.parametrize("quick", [False, True])
def test_a_child_makes_the_bytes_that_we_make(pair: Children, quick: bool) -> None:
    found = done(pair, jobs(TEXTS, quick=quick))
    assert [job.code for job in found] == [compiled(text, host(), quick=quick) for text in TEXTS]
    assert 1 <= len(pair.children) <= 2


def test_a_child_sees_the_processor_that_we_see(pair: Children) -> None:
    assert pair.about() == compiler.facts()


def test_a_text_that_llvm_refuses_does_not_end_a_child(pair: Children) -> None:
    bad, good = done(pair, jobs(["define void @f() { ret i32 1 }", TWICE]))
    assert bad.code is None and bad.fault is not None and "i32" in bad.fault
    assert good.code == compiled(TWICE, host())


def test_jobs_of_a_child_that_is_killed_are_given_back(caplog: pytest.LogCaptureFixture) -> None:
    found = Children(1)
    assert found.about() is not None
    for child in found.children:
        child.process.send_signal(signal.SIGSTOP)  # it would be too quick
    wanted = jobs(TEXTS)
    for job in wanted:
        found.add(job)
    with caplog.at_level(logging.INFO):
        found.children[0].process.kill()
        assert all(job.done.wait(60) for job in wanted)
    assert [job.code for job in wanted] == [None] * 6 and "of no use" in caplog.text
    (late,) = done(found, jobs([TWICE]))
    assert late.code is None and late.fault is None
    found.end()


@pytest.mark.parametrize(
    "then",
    [
        "answers.write(b'x' * 1000); answers.flush()",
        "answers.write(compiler.ANSWER.pack(b'c', 5, bytes(32)) + b'12345'); answers.flush()",
        "original(answers, b'?', content)",
        "os._exit(0)",
        "answers.write(b'x'); answers.flush(); os._exit(3)",
    ],
    ids=["noise", "damaged", "unknown", "gone", "half"],
)
def test_a_child_whose_answers_are_none_is_left(monkeypatch: pytest.MonkeyPatch, then: str) -> None:
    words = stand_in(then)
    monkeypatch.setattr(children, "command", lambda: words)
    found = Children(2)
    assert all(job.code is None and job.fault is None for job in done(found, jobs(TEXTS)))
    found.end()
    assert all(child.process.returncode is not None for child in found.children)


@pytest.mark.parametrize(
    "command", [[sys.executable, "-c", NONSENSE], [sys.executable, "-c", ""], ["/no such file"]]
)
def test_what_is_no_child_is_left(monkeypatch: pytest.MonkeyPatch, command: list[str]) -> None:
    monkeypatch.setattr(children, "command", lambda: command)
    found = Children(2)
    assert found.about() is None
    assert all(job.code is None for job in done(found, jobs(TEXTS)))
    found.end()


@pytest.mark.parametrize("name", ["", None, "/usr/bin/uwsgi"])
def test_a_program_that_python_is_a_part_of_is_not_started(
    monkeypatch: pytest.MonkeyPatch, name: str | None
) -> None:
    monkeypatch.setattr(sys, "executable", name)
    with pytest.raises(children.Broken):
        children.command()


# --- ahead -----------------------------------------------------------------------------------


def crew() -> ahead.Crew:
    assert ahead.Process.crew is not None, "nobody is helped"
    return ahead.Process.crew


def test_few_texts_start_no_child(tmp_path: Path) -> None:
    with ahead.helped(2):
        for text in TEXTS[:2]:
            jit.prepare(text, Cache(tmp_path))
        assert jit.object_code(TEXTS[0], Cache(tmp_path)) == compiled(TEXTS[0], host())
        assert not crew().children.threads
    assert ahead.Process.crew is None


def test_more_texts_are_compiled_by_children_and_kept(tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    before = ahead.TALLY.done, ahead.TALLY.known
    ahead.TALLY.watch = lambda done, known: told.append((done - before[0], known - before[1]))
    with ahead.helped(2):
        for text in TEXTS:
            jit.prepare(text, Cache(tmp_path))
        assert len(crew().jobs) == 6 and 1 <= len(crew().children.threads) <= 2
        found = [jit.object_code(text, Cache(tmp_path)) for text in TEXTS]
        processes = [child.process for child in crew().children.children]
    ahead.TALLY.watch = None
    assert found == [compiled(text, host()) for text in TEXTS]
    assert all(Cache(tmp_path).get(host().key, text) for text in TEXTS)
    assert all(process.returncode is not None for process in processes)
    assert told[0] == (0, 3) and (6, 6) in told


def test_one_processor_has_no_children(tmp_path: Path) -> None:
    with ahead.helped(1):
        for text in TEXTS:
            jit.prepare(text, Cache(tmp_path))
        assert ahead.Process.crew is None


def test_what_is_kept_is_not_compiled_ahead(tmp_path: Path) -> None:
    for text in TEXTS:
        jit.object_code(text, Cache(tmp_path))
    with ahead.helped(2):
        for text in TEXTS:
            jit.prepare(text, Cache(tmp_path))
        assert not crew().jobs and not crew().held


def test_a_text_that_llvm_refuses_is_our_fault_there_too(tmp_path: Path) -> None:
    bad = "define void @f() { ret i32 1 }"
    with ahead.helped(2):
        for text in (*TEXTS, bad):
            jit.prepare(text, Cache(tmp_path))
        with pytest.raises(AssertionError, match="LLVM refuses a kernel"):
            jit.object_code(bad, Cache(tmp_path))


def test_what_children_do_not_compile_is_compiled_here(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(children, "command", lambda: [sys.executable, "-c", NONSENSE])
    with ahead.helped(2):
        for text in TEXTS:
            jit.prepare(text, Cache(tmp_path))
        found = [jit.object_code(text, Cache(tmp_path)) for text in TEXTS]
    assert found == [compiled(text, host()) for text in TEXTS]


def test_threads_that_make_programs_share_children(tmp_path: Path) -> None:
    found: list[list[bytes]] = []

    def make() -> None:
        with ahead.helped(2):
            for text in TEXTS:
                jit.prepare(text, Cache(tmp_path))
            found.append([jit.object_code(text, Cache(tmp_path)) for text in TEXTS])

    threads = [threading.Thread(target=make) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [[compiled(text, host()) for text in TEXTS]] * 4
    assert ahead.Process.crew is None


def test_a_fork_in_between_compiles_for_itself(tmp_path: Path) -> None:
    with ahead.helped(2):
        for text in TEXTS:
            jit.prepare(text, Cache(tmp_path))
        child = os.fork()
        if child == 0:
            signal.alarm(30)
            right = ahead.Process.crew is None and twice(jit.load(TWICE, ["twice"])) == [2, 4, 6]
            os._exit(0 if right else 1)
        assert os.waitpid(child, 0)[1] == 0
        found = [jit.object_code(text, Cache(tmp_path)) for text in TEXTS]
    assert found == [compiled(text, host()) for text in TEXTS]


# --- ends ------------------------------------------------------------------------------------

INTERRUPTED = """
import sys
from compile.test_children import TEXTS
from compile.test_jit import TWICE
from sardonyx._src.compile.llvm import ahead, jit
found = None
try:
    with ahead.helped(2):
        for i in range(400):
            jit.prepare(TWICE.replace("twice", f"twice{i}"), None)
        ahead.processor()
        found = [child.process for child in ahead.Process.crew.children.children]
        print(*(process.pid for process in found), flush=True)
        for i in range(400):
            jit.object_code(TWICE.replace("twice", f"twice{i}"), None)
except KeyboardInterrupt:
    print(all(process.returncode is not None for process in found), flush=True)
    sys.exit(5)
"""


def begun(code: str) -> tuple[subprocess.Popen[str], list[int]]:
    """A process that has children, and these."""
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    return process, [int(word) for word in process.stdout.readline().split()]


def is_there(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


@pytest.mark.skipif(sys.platform != "linux", reason="processes are looked up in /proc")
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_children_end_with_who_made_them(how: signal.Signals) -> None:
    process, found = begun(INTERRUPTED)
    assert found and all(map(is_there, found))
    if how is signal.SIGINT:
        os.killpg(process.pid, how)  # as a terminal does
        assert (process.communicate(timeout=60)[0], process.returncode) == ("True\n", 5)
    else:
        process.kill()
        process.communicate(timeout=60)
    end = time.monotonic() + 30
    while any(map(is_there, found)) and time.monotonic() < end:
        time.sleep(0.05)
    assert not any(map(is_there, found))


def test_a_library_without_variables_is_linked_by_ourselves() -> None:
    assert twice(Library(compiled(TWICE, host()), ["twice"])) == [2, 4, 6]
    text = f"@count = global i64 7\n{TWICE}"
    library = Library(compiled(text, host()), ["twice", "count"])
    assert twice(library) == [2, 4, 6]
