"""Compilation in worker processes: the object code is the same, and failures of workers are recovered from."""

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
from sardonyx._src.compile.llvm import async_compile, compile_workers, compiler, jit
from sardonyx._src.compile.llvm.cache import ObjectCache
from sardonyx._src.compile.llvm.compile_progress import PROGRESS
from sardonyx._src.compile.llvm.compile_workers import CompileJob, WorkerPool, encode_request
from sardonyx._src.compile.llvm.jit import Library, Module, compile_module, host_target

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there are no worker processes on Windows")
TEXTS = [TWICE.replace("twice", f"twice{i}").replace("fadd", "fmul" if i % 2 else "fadd") for i in range(6)]
PRINT_NOISE = "import sys; sys.stdout.write('hello' * 100); sys.stdout.flush(); sys.stdin.read()"
REPLACED_RESPONSE = """
import sys; sys.path.insert(0, {folder!r}); sys.argv = ["compiler.py", {packages!r}]
import compiler, os
def write_response(responses, kind, content, original=compiler.write_response):
    if kind == compiler.HOST_INFO: return original(responses, kind, content)
    {then}
compiler.write_response = write_response
compiler.main()
"""


@pytest.fixture
def pool() -> Iterator[WorkerPool]:
    pool = WorkerPool(2)
    yield pool
    pool.shut_down()


def make_jobs(texts: list[str], *, quick: bool = False) -> list[CompileJob]:
    return [CompileJob(encode_request(text, host_target(), quick=quick)) for text in texts]


def run_jobs(pool: WorkerPool, jobs: list[CompileJob]) -> list[CompileJob]:
    """Submits jobs, and returns them when they are done, within a minute."""
    for job in jobs:
        pool.submit(job)
    assert all(job.done.wait(60) for job in jobs)
    return jobs


def faulty_worker_command(then: str) -> list[str]:
    """The command of a worker that reports its host, and then executes `then` in place of each response."""
    *_, file, packages = compile_workers.worker_command()
    code = REPLACED_RESPONSE.format(folder=str(Path(file).parent), packages=packages, then=then)
    return [sys.executable, "-I", "-c", code]


@pytest.mark.parametrize("quick", [False, True])
def test_a_worker_compiles_the_same_object_code(pool: WorkerPool, quick: bool) -> None:
    jobs = run_jobs(pool, make_jobs(TEXTS, quick=quick))
    assert [job.code for job in jobs] == [compile_module(text, host_target(), quick=quick) for text in TEXTS]
    assert 1 <= len(pool.workers) <= 2


def test_a_worker_has_the_same_host_target(pool: WorkerPool) -> None:
    assert pool.query_host_info() == compiler.query_host_info()


def test_a_worker_survives_text_that_llvm_rejects(pool: WorkerPool) -> None:
    bad, good = run_jobs(pool, make_jobs(["define void @f() { ret i32 1 }", TWICE]))
    assert bad.code is None and bad.error is not None and "i32" in bad.error
    assert good.code == compile_module(TWICE, host_target())


def test_jobs_of_a_killed_worker_are_returned(caplog: pytest.LogCaptureFixture) -> None:
    pool = WorkerPool(1)
    assert pool.query_host_info() is not None
    for worker in pool.workers:
        worker.process.send_signal(signal.SIGSTOP)  # so that no job is done before the worker is killed
    jobs = make_jobs(TEXTS)
    for job in jobs:
        pool.submit(job)
    with caplog.at_level(logging.INFO):
        pool.workers[0].process.kill()
        assert all(job.done.wait(60) for job in jobs)
    assert [job.code for job in jobs] == [None] * 6 and "compile worker failed" in caplog.text
    (late_job,) = run_jobs(pool, make_jobs([TWICE]))
    assert late_job.code is None and late_job.error is None
    pool.shut_down()


@pytest.mark.parametrize(
    "then",
    [
        "responses.write(b'x' * 1000); responses.flush()",
        "responses.write(compiler.RESPONSE_HEADER.pack(b'c', 5, bytes(32)) + b'12345'); responses.flush()",
        "original(responses, b'?', content)",
        "os._exit(0)",
        "responses.write(b'x'); responses.flush(); os._exit(3)",
    ],
    ids=["noise", "damaged", "unknown", "exit", "partial"],
)
def test_a_worker_with_invalid_responses_is_abandoned(monkeypatch: pytest.MonkeyPatch, then: str) -> None:
    command = faulty_worker_command(then)
    monkeypatch.setattr(compile_workers, "worker_command", lambda: command)
    pool = WorkerPool(2)
    assert all(job.code is None and job.error is None for job in run_jobs(pool, make_jobs(TEXTS)))
    pool.shut_down()
    assert all(worker.process.returncode is not None for worker in pool.workers)


@pytest.mark.parametrize(
    "command", [[sys.executable, "-c", PRINT_NOISE], [sys.executable, "-c", ""], ["/no such file"]]
)
def test_a_command_that_is_no_worker_is_abandoned(
    monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    monkeypatch.setattr(compile_workers, "worker_command", lambda: command)
    pool = WorkerPool(2)
    assert pool.query_host_info() is None
    assert all(job.code is None for job in run_jobs(pool, make_jobs(TEXTS)))
    pool.shut_down()


@pytest.mark.parametrize("name", ["", None, "/usr/bin/uwsgi"])
def test_an_application_that_embeds_python_is_not_started_as_a_worker(
    monkeypatch: pytest.MonkeyPatch, name: str | None
) -> None:
    monkeypatch.setattr(sys, "executable", name)
    with pytest.raises(compile_workers.WorkerError):
        compile_workers.worker_command()


# --- asynchronous compilation -----------------------------------------------------------------------------------


def active_compiler() -> async_compile.AsyncCompiler:
    assert async_compile.ActiveCompiler.compiler is not None, "nothing is compiled asynchronously"
    return async_compile.ActiveCompiler.compiler


def test_few_modules_start_no_worker(tmp_path: Path) -> None:
    with async_compile.async_compilation(2):
        for text in TEXTS[:2]:
            jit.compile_module_async(Module.of_text(text), ObjectCache(tmp_path))
        assert jit.object_code(Module.of_text(TEXTS[0]), ObjectCache(tmp_path)) == compile_module(
            TEXTS[0], host_target()
        )
        assert not active_compiler().pool.threads
    assert async_compile.ActiveCompiler.compiler is None


def test_the_longest_module_is_compiled_first() -> None:
    done: list[int] = []
    pool = WorkerPool(
        1, lambda: done.append(next(i for i in range(4) if jobs[i].done.is_set() and i not in done))
    )
    assert pool.query_host_info() is not None
    pool.workers[0].process.send_signal(signal.SIGSTOP)  # during the first job
    jobs = make_jobs([TWICE, *(TWICE + "\n" * length for length in (1000, 3000, 2000))])
    pool.submit(jobs[0])
    while not pool.jobs.empty():
        time.sleep(0.001)
    for job in jobs[1:]:
        pool.submit(job)
    pool.workers[0].process.send_signal(signal.SIGCONT)
    assert all(job.done.wait(60) for job in jobs)
    pool.shut_down()
    assert done == [0, 2, 3, 1]


ONE_MODULE = """
import sys
from compile.test_jit import TWICE
from sardonyx._src.compile.llvm import async_compile, jit
with async_compile.async_compilation(2):
    jit.compile_module_async(jit.Module.of_text(TWICE), None)
    code = jit.object_code(jit.Module.of_text(TWICE), None)
    print(len(async_compile.ActiveCompiler.compiler.pool.workers), len(code) > 100, "llvmlite" in sys.modules)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the processor is known without LLVM under Linux")
def test_a_process_without_llvm_gives_one_module_to_a_worker() -> None:
    process, _ = start_process(f"print(flush=True)\n{ONE_MODULE}")
    assert (process.communicate(timeout=60)[0], process.returncode) == ("1 True False\n", 0)


def test_more_modules_are_compiled_by_workers_and_cached(tmp_path: Path) -> None:
    compile_module(TEXTS[0], host_target())  # loads LLVM here, so that the first modules wait for others
    reports: list[tuple[int, int]] = []
    before = PROGRESS.done, PROGRESS.known
    PROGRESS.watch = lambda done, known: reports.append((done - before[0], known - before[1]))
    with async_compile.async_compilation(2):
        for text in TEXTS:
            jit.compile_module_async(Module.of_text(text), ObjectCache(tmp_path))
        assert len(active_compiler().jobs) == 6 and 1 <= len(active_compiler().pool.threads) <= 2
        codes = [jit.object_code(Module.of_text(text), ObjectCache(tmp_path)) for text in TEXTS]
        processes = [worker.process for worker in active_compiler().pool.workers]
    PROGRESS.watch = None
    assert codes == [compile_module(text, host_target()) for text in TEXTS]
    assert all(ObjectCache(tmp_path).get(host_target().key, Module.of_text(text).cache_key) for text in TEXTS)
    assert all(process.returncode is not None for process in processes)
    assert reports[0] == (0, 3) and (6, 6) in reports


def test_one_processor_has_no_workers(tmp_path: Path) -> None:
    with async_compile.async_compilation(1):
        for text in TEXTS:
            jit.compile_module_async(Module.of_text(text), ObjectCache(tmp_path))
        assert async_compile.ActiveCompiler.compiler is None


def test_a_cached_module_is_not_compiled_asynchronously(tmp_path: Path) -> None:
    for text in TEXTS:
        jit.object_code(Module.of_text(text), ObjectCache(tmp_path))
    with async_compile.async_compilation(2):
        for text in TEXTS:
            jit.compile_module_async(Module.of_text(text), ObjectCache(tmp_path))
        assert not active_compiler().jobs and not active_compiler().deferred


def test_text_that_llvm_rejects_raises_an_assertion_error_with_workers_too(tmp_path: Path) -> None:
    bad = "define void @f() { ret i32 1 }"
    with async_compile.async_compilation(2):
        for text in (*TEXTS, bad):
            jit.compile_module_async(Module.of_text(text), ObjectCache(tmp_path))
        with pytest.raises(AssertionError, match="LLVM refuses a kernel"):
            jit.object_code(Module.of_text(bad), ObjectCache(tmp_path))


def test_modules_that_workers_do_not_compile_are_compiled_in_the_process(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(compile_workers, "worker_command", lambda: [sys.executable, "-c", PRINT_NOISE])
    with async_compile.async_compilation(2):
        for text in TEXTS:
            jit.compile_module_async(Module.of_text(text), ObjectCache(tmp_path))
        codes = [jit.object_code(Module.of_text(text), ObjectCache(tmp_path)) for text in TEXTS]
    assert codes == [compile_module(text, host_target()) for text in TEXTS]


def test_threads_share_workers(tmp_path: Path) -> None:
    codes_of_threads: list[list[bytes]] = []

    def compile_texts() -> None:
        with async_compile.async_compilation(2):
            for text in TEXTS:
                jit.compile_module_async(Module.of_text(text), ObjectCache(tmp_path))
            codes_of_threads.append(
                [jit.object_code(Module.of_text(text), ObjectCache(tmp_path)) for text in TEXTS]
            )

    threads = [threading.Thread(target=compile_texts) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert codes_of_threads == [[compile_module(text, host_target()) for text in TEXTS]] * 4
    assert async_compile.ActiveCompiler.compiler is None


def test_a_forked_process_compiles_without_workers(tmp_path: Path) -> None:
    with async_compile.async_compilation(2):
        for text in TEXTS:
            jit.compile_module_async(Module.of_text(text), ObjectCache(tmp_path))
        child = os.fork()
        if child == 0:
            signal.alarm(30)
            is_correct = async_compile.ActiveCompiler.compiler is None and twice(
                jit.load(TWICE, ["twice"])
            ) == [
                2,
                4,
                6,
            ]
            os._exit(0 if is_correct else 1)
        assert os.waitpid(child, 0)[1] == 0
        codes = [jit.object_code(Module.of_text(text), ObjectCache(tmp_path)) for text in TEXTS]
    assert codes == [compile_module(text, host_target()) for text in TEXTS]


# --- termination ------------------------------------------------------------------------------------

INTERRUPTED = """
import sys
from compile.test_compile_workers import TEXTS
from compile.test_jit import TWICE
from sardonyx._src.compile.llvm import async_compile, jit
processes = None
try:
    with async_compile.async_compilation(2):
        for i in range(400):
            jit.compile_module_async(jit.Module.of_text(TWICE.replace("twice", f"twice{i}")), None)
        async_compile.query_host_info()
        processes = [worker.process for worker in async_compile.ActiveCompiler.compiler.pool.workers]
        print(*(process.pid for process in processes), flush=True)
        for i in range(400):
            jit.object_code(jit.Module.of_text(TWICE.replace("twice", f"twice{i}")), None)
except KeyboardInterrupt:
    print(all(process.returncode is not None for process in processes), flush=True)
    sys.exit(5)
"""


def start_process(code: str) -> tuple[subprocess.Popen[str], list[int]]:
    """Starts a process that has workers; returns it and the process ids of the workers."""
    folders = (str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", ""))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, folders))}
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    return process, [int(word) for word in process.stdout.readline().split()]


def is_running(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


@pytest.mark.skipif(sys.platform != "linux", reason="processes are looked up in /proc")
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGKILL])
def test_workers_terminate_with_their_parent(sent: signal.Signals) -> None:
    process, workers = start_process(INTERRUPTED)
    assert workers and all(map(is_running, workers))
    if sent is signal.SIGINT:
        os.killpg(process.pid, sent)  # as a terminal does
        assert (process.communicate(timeout=60)[0], process.returncode) == ("True\n", 5)
    else:
        process.kill()
        process.communicate(timeout=60)
    end = time.monotonic() + 30
    while any(map(is_running, workers)) and time.monotonic() < end:
        time.sleep(0.05)
    assert not any(map(is_running, workers))


def test_a_library_without_variables_needs_no_llvm_linker() -> None:
    assert twice(Library(compile_module(TWICE, host_target()), ["twice"])) == [2, 4, 6]
    text = f"@count = global i64 7\n{TWICE}"
    library = Library(compile_module(text, host_target()), ["twice", "count"])
    assert twice(library) == [2, 4, 6]
