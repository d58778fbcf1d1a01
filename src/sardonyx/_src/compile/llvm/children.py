"""Processes that compile for this one: each runs `compiler.py`, beside us and beside the others.

LLVM's bindings let one thread at a time in, and what they load and leave behind in memory is gone with a process.  A child
that cannot be started, that dies, or whose answers are none, is no fault: what it had to compile is given back, and is
compiled here.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import select
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from queue import SimpleQueue

from sardonyx._src.compile.llvm import compiler
from sardonyx._src.compile.llvm.target import Target

PATIENCE = 20.0  # seconds that a child has to come up
LARGEST = 1 << 30  # bytes of an answer
MOST = 8  # children of a process
log = logging.getLogger(__name__)


class Broken(Exception):
    """A child does not do what it is for."""


@dataclass(slots=True, eq=False)
class Job:
    """A text to be compiled, and what came of it once it is done: code, a fault of the text, or neither.

    The question is empty once it is answered, unless with a fault.
    """

    question: bytes
    done: threading.Event = field(default_factory=threading.Event)
    code: bytes | None = None
    fault: str | None = None


def question(text: str, target: Target, *, quick: bool) -> bytes:
    words = {"triple": target.triple, "cpu": target.cpu, "features": target.features}
    content = json.dumps({"text": text, "quick": quick, **words}).encode()
    return compiler.QUESTION.pack(len(content)) + content


def command() -> list[str]:
    """How a child is called; raises Broken where there are none."""
    name = os.path.basename(sys.executable or "").lower()
    if sys.platform == "win32" or not name.startswith("python") or getattr(sys, "frozen", False):
        raise Broken("Python is a part of another program")  # and that is what would be started
    found, file = find_spec("llvmlite"), Path(compiler.__file__)
    if found is None or found.origin is None or not file.is_file():
        raise Broken("the compiler is not in a file")
    return [sys.executable, "-I", "-S", str(file), str(Path(found.origin).parents[1])]


class Child:
    """One process, and the pipes to it."""

    def __init__(self, words: list[str]) -> None:
        self.process = subprocess.Popen(
            words, bufsize=0, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )

    def greet(self) -> dict[str, str]:
        """What it says of the processor; raises Broken."""
        assert self.process.stdout is not None, "there is a pipe"
        if not select.select([self.process.stdout], [], [], PATIENCE)[0]:
            raise Broken("it does not come up")
        kind, content = self.answer()
        if kind != compiler.FACTS:
            raise Broken("it says something else than who it is")
        found: dict[str, str] = json.loads(content)
        return found

    def do(self, job: Job) -> None:
        """Has a text compiled; raises Broken."""
        assert self.process.stdin is not None, "there is a pipe"
        rest = memoryview(job.question)
        while rest:
            rest = rest[self.process.stdin.write(rest) :]
        kind, content = self.answer()
        if kind == compiler.FAULT:
            job.fault = content.decode()
        elif kind == compiler.CODE:
            job.code = content
        else:
            raise Broken(f"it answers {kind!r}")

    def answer(self) -> tuple[bytes, bytes]:
        """The kind and the content of the next answer; raises Broken."""
        kind, length, digest = compiler.ANSWER.unpack(self.read(compiler.ANSWER.size))
        if length > LARGEST:
            raise Broken("what it says is no answer")
        content = self.read(length)
        if hashlib.sha256(content).digest() != digest:
            raise Broken("what it says is no answer")
        return kind, content

    def read(self, size: int) -> bytes:
        assert self.process.stdout is not None, "there is a pipe"
        found = bytearray()
        while len(found) < size:
            part = self.process.stdout.read(size - len(found))
            if not part:
                raise Broken("it has ended")
            found += part
        return bytes(found)

    def end(self) -> None:
        """Ends the process, in the middle of its work if need be."""
        self.process.kill()
        self.process.wait()
        self.leave()

    def leave(self) -> None:
        """Closes our ends of the pipes."""
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()


class Children:
    """Up to `most` children, started as there is work for them, each with a thread of ours that waits for it."""

    def __init__(self, most: int, finished: Callable[[], None] = lambda: None) -> None:
        """finished: called, in a thread of ours, when a job is done."""
        self.most, self.finished = min(most, MOST), finished
        self.lock = threading.Lock()
        self.jobs: SimpleQueue[Job | None] = SimpleQueue()
        self.waiting = 0  # jobs that are not done
        self.children: list[Child] = []
        self.threads: list[threading.Thread] = []
        self.facts: dict[str, str] | None = None
        self.is_up = threading.Event()  # once one of them has said who it is, or none ever will
        self.is_over = False

    def begin(self) -> None:
        """Starts one child, if there is none."""
        with self.lock:
            if not self.threads and not self.is_over:
                self.start()

    def add(self, job: Job) -> None:
        """Has a job done as soon as a child is free; it is given back at once where there are none."""
        with self.lock:
            if not self.is_over:
                self.waiting += 1
                self.jobs.put(job)
                if self.waiting > len(self.threads) < self.most:
                    self.start()
                return
        job.done.set()

    def about(self) -> dict[str, str] | None:
        """What the first child says of the processor; None if there is none."""
        self.begin()
        self.is_up.wait()
        return self.facts

    def start(self) -> None:
        """Starts a child; the lock is held."""
        thread = threading.Thread(target=self.serve, name="sardonyx compiles", daemon=True)
        self.threads.append(thread)
        thread.start()

    def serve(self) -> None:
        """What a thread does: gives its child one job after another."""
        child, job = None, None
        try:
            child = Child(command())
            with self.lock:
                self.children.append(child)
                if self.is_over:
                    return
            said = child.greet()
            self.facts = self.facts or said
            self.is_up.set()
            while (job := self.jobs.get()) is not None:
                child.do(job)
                self.settle(job)
        except (OSError, ValueError, Broken) as error:
            if not self.is_over:
                log.info("a process that compiles is of no use, and we do it ourselves: %s", error)
        finally:
            self.lose(child, job)

    def settle(self, job: Job) -> None:
        with self.lock:
            self.waiting -= 1
        if job.fault is None:
            job.question = b""  # nobody asks again, and texts are long
        job.done.set()
        self.finished()

    def lose(self, child: Child | None, job: Job | None) -> None:
        """After a thread's last job: without any child nothing more is done."""
        if child is not None:
            child.end()
        if job is not None:
            self.settle(job)
        with self.lock:
            self.most -= 1
            is_last = self.most <= 0 or all(t is threading.current_thread() for t in self.threads)
            self.threads.remove(threading.current_thread())
        if is_last:
            self.give_back()

    def give_back(self) -> None:
        """Says of every job that nobody does it, and of those to come."""
        with self.lock:
            self.is_over = True
            self.is_up.set()
            while not self.jobs.empty():
                job = self.jobs.get()
                if job is not None:
                    job.done.set()

    def end(self) -> None:
        """Ends the children, in the middle of their work if need be."""
        self.give_back()
        with self.lock:
            threads, children = [*self.threads], [*self.children]
            for _ in threads:
                self.jobs.put(None)
        for child in children:
            child.process.kill()
        for thread in threads:
            thread.join()

    def forget(self) -> None:
        """In a forked child of ours: their pipes are those of our parent alone, who ends them by closing."""
        self.is_over = True
        for child in self.children:
            child.leave()
