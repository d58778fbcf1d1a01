"""Texts compiled by other processes ahead of the moment at which somebody wants their code."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from sardonyx._src.compile.llvm.children import Children, Job, question
from sardonyx._src.compile.llvm.target import Target

FEW = 3  # texts for fewer than which no process is started
Text = Callable[[], str]
Key = tuple[str, str]  # of a target, and what tells a text from all others


@dataclass(slots=True)
class Tally:
    """How many texts this process has had to compile, and how many of these are done; `watch` is told when that changes."""

    known: int = 0
    done: int = 0
    watch: Callable[[int, int], None] | None = None

    def add(self, *, known: int = 0, done: int = 0) -> None:
        with LOCK:
            self.known, self.done = self.known + known, self.done + done
        if self.watch is not None:
            self.watch(self.done, self.known)


@dataclass(slots=True)
class Crew:
    """The children of a process while programs are made, and what they were asked for."""

    children: Children
    users: int = 0
    jobs: dict[Key, Job] = field(default_factory=dict)
    held: dict[Key, Callable[[], Job]] = field(default_factory=dict)  # fewer than are worth a child


class Process:
    """What this process has: its crew, if programs are being made."""

    crew: Crew | None = None


LOCK = threading.RLock()
TALLY = Tally()


@contextmanager
def helped(processors: int) -> Iterator[None]:
    """While this goes on, texts asked for by `ahead` are compiled by children, if there is more than one processor."""
    with LOCK:
        crew = Process.crew
        if crew is None and processors > 1:
            children = Children(processors, lambda: TALLY.add(done=1))
            crew = Process.crew = Crew(children)
        if crew is not None:
            crew.users += 1
    try:
        yield
    finally:
        if crew is not None:
            leave(crew)


def leave(crew: Crew) -> None:
    """Ends the children when nobody makes programs any more."""
    with LOCK:
        crew.users -= 1
        is_last = crew.users == 0
        if is_last and Process.crew is crew:
            Process.crew = None
    if is_last:
        crew.children.end()


def begin() -> None:
    """Starts a child for what will be asked, if there are any and LLVM is not loaded here."""
    crew = Process.crew
    if crew is not None and "llvmlite" not in sys.modules:
        crew.children.begin()


def processor() -> dict[str, str] | None:
    """What a child says of the processor; None where there is none to ask."""
    crew = Process.crew
    return None if crew is None else crew.children.about()


def ahead(target: Target, origin: str, text: Text, *, quick: bool = False) -> None:
    """Has a text compiled, if there are children, and enough for them to do."""
    key = (target.key, origin)
    with LOCK:
        crew = Process.crew
        if crew is None or crew.children.is_over or key in crew.jobs or key in crew.held:
            return
        crew.held[key] = lambda: Job(question(text(), target, quick=quick))
        if len(crew.held) < FEW and not crew.children.threads:
            return
        wanted, crew.held = crew.held, {}
        made = {one: make() for one, make in wanted.items()}
        crew.jobs.update(made)
    TALLY.add(known=len(made))
    for job in made.values():
        crew.children.add(job)


def collected(target: Target, origin: str) -> bytes | None:
    """The code of a text that was asked for, once it is done; None if nobody does it.

    Asserts that LLVM takes the text: it is written by us.
    """
    key = (target.key, origin)
    with LOCK:
        crew = Process.crew
        job = None
        if crew is not None:
            crew.held.pop(key, None)
            job = crew.jobs.get(key)
    if job is None:
        return None
    job.done.wait()
    assert job.fault is None, f"LLVM refuses a kernel: {job.fault}\n{job.question.decode(errors='replace')}"
    if job.code is None:
        TALLY.add(known=-1)  # it is counted anew by whoever does it
    return job.code


def forget() -> None:
    """In a child that was forked: no crew, and a lock that nobody holds."""
    global LOCK
    crew, Process.crew, LOCK = Process.crew, None, threading.RLock()
    if crew is not None:
        crew.children.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=forget)
