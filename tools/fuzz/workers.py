"""Forked processes that judge numbered cases, with limits; a process that dies names the case that it died of.

A process inherits all that its parent has imported and generated, so that a case costs no start-up.  It judges its cases
in order and sends each verdict, so that the first case without one is the case that ended it; the rest continue in a new
process.  Time is processor time, so that processes may be stopped and continued, or starved by others.
"""

from __future__ import annotations

import faulthandler
import logging
import os
import resource
import signal
import sys
import tempfile
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import IO

from fuzz.verdicts import GENERATOR, SIGNAL, SLOW, Verdict, describe, fault, place_of

Judge = Callable[[int], Verdict]
POLL_SECONDS, PAUSE_CHECK_SECONDS = 1.0, 0.1


@dataclass(frozen=True, slots=True)
class WorkerLimits:
    """address_space: in bytes, beyond what the parent has.  cpu_seconds: of one case.  idle_seconds: that a process may sleep without
    any progress, for a case that waits for ever; time in which the parent is stopped does not count."""

    address_space: int = 6 << 30
    cpu_seconds: int = 10
    idle_seconds: float = 120.0


@dataclass(frozen=True, slots=True)
class JudgedCase:
    number: int
    verdict: Verdict
    seconds: float  # of processor time


class Worker:
    """Judges cases one after the other, in as many processes as it takes."""

    def __init__(self, judge: Judge, numbers: Iterable[int], limits: WorkerLimits | None = None) -> None:
        self.judge, self.limits = judge, limits or WorkerLimits()
        self.remaining = deque(numbers)
        self.pid, self.idle_seconds, self.last_ticks, self.last_poll = 0, 0.0, -1, 0.0
        self.connection: Connection | None = None
        self.errors: IO[bytes] | None = None

    def start(self) -> Connection:
        """The connection to a new process for the remaining cases."""
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115  # until the end of the process
        self.connection, other = Pipe(duplex=False)
        self.idle_seconds, self.last_ticks, self.last_poll = 0.0, -1, time.monotonic()
        sys.stdout.flush()
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore", DeprecationWarning
            )  # of forks beside threads, as those of NumPy's BLAS
            self.pid = os.fork()
        if self.pid == 0:
            self.connection.close()
            os.dup2(self.errors.fileno(), 2)
            serve(other, self.judge, tuple(self.remaining), self.limits)
        other.close()
        return self.connection

    def receive(self, seconds: float = POLL_SECONDS) -> JudgedCase | None:
        """The next case that is judged; None if none is in this time."""
        connection = self.connection or self.start()
        try:
            if not connection.poll(seconds):
                return self.notice_idleness()
            verdict, cpu_seconds = connection.recv()
        except EOFError:
            return JudgedCase(self.remaining.popleft(), self.end_verdict(), 0.0)
        self.idle_seconds = 0.0
        if cpu_seconds > self.limits.cpu_seconds:
            verdict = fault(SLOW, "slow case", f"{cpu_seconds:.0f} s of processor time")
        judged = JudgedCase(self.remaining.popleft(), verdict, cpu_seconds)
        if not self.remaining:
            self.end()
        return judged

    def notice_idleness(self) -> JudgedCase | None:
        """Ends a process that has slept for too long without using the processor."""
        (state, ticks), now = process_state(self.pid), time.monotonic()
        # Polls may follow each other at once, when another worker sends; a parent that was stopped polls late.
        passed = min(now - self.last_poll, POLL_SECONDS)
        self.idle_seconds = self.idle_seconds + passed if state in "SD" and ticks == self.last_ticks else 0.0
        self.last_ticks, self.last_poll = ticks, now
        if self.idle_seconds <= self.limits.idle_seconds:
            return None
        os.kill(self.pid, signal.SIGKILL)
        self.end()
        return JudgedCase(self.remaining.popleft(), fault(SLOW, "waits for ever", "no progress"), 0.0)

    def end_verdict(self) -> Verdict:
        """The fault of the case that ended the process."""
        assert self.errors is not None, "a process has been started"
        self.errors.seek(0)
        text = self.errors.read().decode(errors="replace")[:300]
        cause = self.end()
        if cause == "SIGXCPU":
            return fault(SLOW, "no end", f"more than {self.limits.cpu_seconds} s of processor time")
        return fault(SIGNAL, cause, f"died: {cause} {text}")

    def end(self) -> str:
        """Waits for the end of the process; returns its cause."""
        if self.connection is None or self.errors is None:
            return ""
        self.connection.close()
        self.errors.close()
        self.connection = self.errors = None
        _, status = os.waitpid(self.pid, 0)
        code = os.waitstatus_to_exitcode(status)
        return signal.Signals(-code).name if code < 0 else f"exit {code}"

    def kill(self) -> None:
        """Ends the process before its cases are judged."""
        if self.connection is not None:
            os.kill(self.pid, signal.SIGKILL)
            self.end()


def judge_cases(
    judge: Judge, numbers: Iterable[int], limits: WorkerLimits | None = None
) -> Iterator[JudgedCase]:
    """The verdicts of cases, in order."""
    worker = Worker(judge, numbers, limits)
    try:
        while worker.remaining:
            judged = worker.receive()
            if judged is not None:
                yield judged
    finally:
        worker.kill()


def serve(connection: Connection, judge: Judge, numbers: Iterable[int], limits: WorkerLimits) -> None:
    """The life of a process: sends the verdict and the processor time of each case, and exits."""
    code = 1
    try:
        os.environ["SARDONYX_FATAL_DEFECTS"] = "1"  # and verify the result of each stage of every compilation
        warnings.simplefilter("ignore")
        logging.getLogger("sardonyx").setLevel(logging.ERROR)  # runs that violate guards are expected
        parent, pause_check = os.getppid(), time.monotonic()
        faulthandler.enable(2)  # where a process dies is part of the fault
        address_space = address_space_of(parent) + limits.address_space
        resource.setrlimit(resource.RLIMIT_AS, (address_space, address_space))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        for number in numbers:
            if time.monotonic() > pause_check:
                wait_while_stopped(parent)
                pause_check = time.monotonic() + PAUSE_CHECK_SECONDS
            limit_processor_time(limits.cpu_seconds + 1)
            start = time.process_time()
            verdict = safe_verdict(judge, number)
            connection.send((verdict, time.process_time() - start))
            if os.getppid() != parent:
                break  # it was killed
        code = 0
    finally:
        os._exit(code)


def safe_verdict(judge: Judge, number: int) -> Verdict:
    try:
        return judge(number)
    except Exception as error:  # noqa: BLE001  # reported as a fault of the generator
        return fault(GENERATOR, f"{type(error).__name__} in {place_of(error)}", describe(error))


def wait_while_stopped(pid: int) -> None:
    """Returns when a process is not stopped by a signal: stopping the parent stops all."""
    while process_state(pid)[0] == "T":
        time.sleep(PAUSE_CHECK_SECONDS)


def limit_processor_time(seconds: int) -> None:
    """Lets the process end by SIGXCPU after further seconds."""
    used = int(time.process_time()) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (used + seconds, resource.RLIM_INFINITY))


def address_space_of(pid: int) -> int:
    """The bytes of a process's address space; 0 where they are not known."""
    try:
        pages = Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[0]
    except OSError:
        return 0
    return int(pages) * resource.getpagesize()


def process_state(pid: int) -> tuple[str, int]:
    """The state of a process (R, S, D, T, ...) and its processor time in ticks; ("?", 0) where that is not known."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:
        return "?", 0
    return fields[0], int(fields[11]) + int(fields[12])
