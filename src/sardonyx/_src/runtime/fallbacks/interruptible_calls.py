"""Calls that a caller can stop waiting for: signals, cancellation and deadlines take effect during long kernels.

Python handles signals between bytecodes of the main thread, but a NumPy function or a native kernel may run for minutes.  So a
helper thread executes such a call, while its caller waits in short intervals.  A caller that gives up *abandons* the helper:
the call continues to the end of the kernel that is running, its result is dropped, and the thread ends.  A process that exits
waits for abandoned helpers, since libraries of linear algebra crash or wait forever if they are unloaded during a call.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from typing import Generic, TypeVar

from sardonyx._src.interp.run_control import RunControl
from sardonyx._src.threads import start_thread

POLL_INTERVAL = 0.02  # seconds after which a waiting caller checks for cancellation and deadlines
Result = TypeVar("Result")


class PendingCall(Generic[Result]):
    """A call, and after its end its result or exception.

    context: the context variables of the caller, with which the function is called.
    results: the result, in a list so that `take_result` can remove it; empty before the end.
    """

    def __init__(self, function: Callable[[], Result]) -> None:
        self.function, self.context = function, copy_context()
        self.results: list[Result] = []
        self.error: BaseException | None = None

    def execute(self) -> None:
        try:
            self.results.append(self.context.run(self.function))
        except BaseException as error:  # noqa: BLE001  # `take_result` raises it, whatever it is
            self.error = error

    def take_result(self) -> Result:
        """The result; raises what the call raised."""
        if self.error is not None:
            try:
                raise self.error
            finally:
                self.error = None  # the traceback refers to `self`: this breaks the reference cycle
        return self.results.pop()


class HelperThread:
    """A daemon thread that executes one call at a time.

    call: the call in progress; None before `start`, and after the end of the call.
    has_call: released when there is a call to execute; is_done: released when the call has ended.
    """

    def __init__(self) -> None:
        self.has_call, self.is_done = threading.Lock(), threading.Lock()
        self.has_call.acquire()
        self.is_done.acquire()
        self.call: PendingCall[object] | None = None
        self.thread = threading.Thread(target=self.serve, name="sardonyx-helper", daemon=True)
        start_thread(self.thread)

    def serve(self) -> None:
        """Executes calls until its caller leaves it."""
        try:
            with suppress(SystemExit):  # `leave` may raise it in this thread at any moment
                self.execute_calls()
        finally:
            ABANDONED.pop(self, None)

    def execute_calls(self) -> None:
        while True:
            self.has_call.acquire()
            call = self.call
            if call is None:
                return
            call.execute()
            del call
            self.is_done.release()

    def start(self, call: PendingCall[Result]) -> None:
        self.call = call  # type: ignore[assignment]  # only its caller reads the result
        self.has_call.release()

    def wait(self, control: RunControl) -> None:
        """Returns when the call has ended; raises what `control.check` or a signal handler raises."""
        while not self.is_done.acquire(timeout=POLL_INTERVAL):
            control.check()
        self.call = None

    def leave(self) -> None:
        """Lets the thread end after its call.  A call that executes Python code is ended by a SystemExit."""
        is_busy, self.call = self.call is not None, None
        if is_busy:
            ABANDONED[self] = self.thread
        # If the lock is free, the thread has not taken the call yet: it will find `call` is None, and end.
        if self.has_call.locked():
            self.has_call.release()
        if is_busy and self.thread.ident is not None:
            ident, error = ctypes.c_ulong(self.thread.ident), ctypes.py_object(SystemExit)
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ident, error)


IDLE_HELPERS: list[HelperThread] = []
ABANDONED: dict[HelperThread, threading.Thread] = {}  # abandoned helpers that have not ended yet


def call_interruptibly(function: Callable[[], Result], control: RunControl) -> Result:
    """The result of `function`, which a helper thread executes; raises the exception of `function`.

    Raises what `control.check` or a signal handler raises as soon as that happens.  The call may still be in progress then:
    whatever it uses must neither move nor be freed.
    """
    call = PendingCall(function)
    try:
        helper = IDLE_HELPERS.pop()
    except IndexError:
        helper = HelperThread()
    try:
        helper.start(call)
        helper.wait(control)
    except BaseException:
        control.abandon()
        helper.leave()
        raise
    IDLE_HELPERS.append(helper)
    return call.take_result()


def wait_for_abandoned_calls() -> None:
    """Returns when all abandoned calls have ended.  Ctrl-C ends the process in the meantime."""
    threads = [thread for thread in list(ABANDONED.values()) if thread.is_alive()]
    if threads and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    for thread in threads:
        thread.join()


def forget_threads() -> None:
    """Forgets the helper threads in a forked child, which does not have the threads of its parent."""
    IDLE_HELPERS.clear()
    ABANDONED.clear()


atexit.register(wait_for_abandoned_calls)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=forget_threads)
