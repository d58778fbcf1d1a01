"""A process that calls one function, with limits on memory and time; it is restarted when a call ends it.

A call that crashes, hangs or exhausts memory ends that process only, and is reported as a `Death`.
"""

from __future__ import annotations

import multiprocessing
import resource
import signal
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Generic, TypeVar

Argument = TypeVar("Argument")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Death:
    """The end of a process during a call: the name of a signal, `exit N`, or `no answer`."""

    cause: str


@dataclass(frozen=True, slots=True)
class ProcessLimits:
    """address_space: in bytes, of the process.  cpu_seconds, seconds: of one call."""

    address_space: int = 8 << 30
    cpu_seconds: int = 20
    seconds: float = 120.0


class LimitedProcess(Generic[Argument, Result]):
    """Calls of a function, which another process can import, in a process that starts with the first call."""

    def __init__(self, function: Callable[[Argument], Result], limits: ProcessLimits | None = None) -> None:
        self.function, self.limits = function, limits or ProcessLimits()
        self.process: BaseProcess | None = None
        self.connection: Connection | None = None

    def call(self, argument: Argument) -> Result | Death:
        """The function's result; a Death if the process ends, or does not answer in time."""
        connection = self.connection or self.start()
        try:
            connection.send(argument)
            if not connection.poll(self.limits.seconds):
                self.close()
                return Death("no answer")
            result: Result = connection.recv()
            return result
        except (EOFError, BrokenPipeError, ConnectionResetError):
            return Death(self.close())

    def start(self) -> Connection:
        context = multiprocessing.get_context("spawn")
        self.connection, other = context.Pipe()
        self.process = context.Process(target=serve, args=(other, self.function, self.limits), daemon=True)
        self.process.start()
        other.close()
        return self.connection

    def close(self) -> str:
        """Ends the process; returns the cause if it had ended before."""
        if self.process is None or self.connection is None:
            return ""
        self.connection.close()
        self.process.join(1.0)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()
        code = self.process.exitcode or 0
        self.process = self.connection = None
        return signal.Signals(-code).name if code < 0 else f"exit {code}"


def serve(connection: Connection, function: Callable[[Argument], Result], limits: ProcessLimits) -> None:
    """The loop of the process: results for arguments, until the other end is closed."""
    resource.setrlimit(resource.RLIMIT_AS, (limits.address_space, limits.address_space))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    while True:
        try:
            argument = connection.recv()
        except EOFError:
            return
        usage = resource.getrusage(resource.RUSAGE_SELF)
        resource.setrlimit(
            resource.RLIMIT_CPU,
            (int(usage.ru_utime + usage.ru_stime) + limits.cpu_seconds, resource.RLIM_INFINITY),
        )
        connection.send(function(argument))
