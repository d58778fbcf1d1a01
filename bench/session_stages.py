"""Run in a fresh process by `first_sessions.py`: processor time of the main thread in each stage of a first session.

    python bench/session_stages.py MODEL FEEDS [MODULES]

FEEDS is an archive of NumPy.  MODULES is a file with the names of modules that are imported first, so that their
imports are not part of the times.  The last line of the output is JSON: seconds by stage, those of the session, and the
modules of the process.  The time of a stage does not include that of the stages that it calls.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

PACKAGE = "sardonyx._src."
OTHER, RUN = "other", "first run"
STAGES = {
    "io.loading.load.load": "load",
    "interp.interpreter.Interpreter": "reference engine",
    "interp.runnable.require_runnable": "reference engine",
    "compile.prepare.prepare.strip_training_and_types": "copy",
    "compile.prepare.prepare.upgrade_opset": "convert",
    "compile.prepare.prepare.optimize_tolerantly": "optimize",
    "compile.prepare.decompose.decompose_nodes": "decompose",
    "compile.prepare.prepare.infer_sizes": "infer",
    "compile.prepare.prepare.prepare_model": "prepare, else",
    "compile.partition.partitioner.partition.partition": "partition",
    "compile.layouts.assignment.assign_layouts": "layouts",
    "compile.partition.partitioner.verify.verify_regions": "verify",
    "compile.layouts.verify.verify_layouts": "verify",
    "compile.program.verification.verify.verify_program": "verify",
    "compile.program.verification.verify_memory_plan.verify_memory_plan": "verify",
    "compile.lower.driver.lower": "lower",
    "compile.program.encoding.local_sizes.compile_bindings": "size functions",
    "compile.program.memory.early_updates.advance_updates": "memory plan",
    "compile.program.memory.memory_plan.plan_memory": "memory plan",
    "compile.program.encoding.encoding.encode_program": "encode",
    "runtime.declarations.declaration_analysis.analyze_declarations": "declarations",
    "runtime.saved_programs.disk_cache.write_entry": "write the entry",
    "runtime.saved_programs.disk_cache.open_cached_program": "read the entry",
    "runtime.saved_programs.disk_cache.bind_cached": "bind the program",
    "runtime.runs.native_program.NativeProgram": "bind the program",
    "runtime.engine.engine.release_weights": "free memory",
    "gc.collect": "free memory",
    "compile.llvm.sources.sources_digest": "digest of the sources",
}


class StageTimer:
    """Seconds of processor time by stage; calls nest."""

    def __init__(self) -> None:
        self.seconds = dict.fromkeys([*STAGES.values(), RUN, OTHER], 0.0)
        self.running = [OTHER]
        self.since = time.thread_time()

    def switch(self) -> None:
        """Adds the time since the last switch to the running stage."""
        now = time.thread_time()
        self.seconds[self.running[-1]] += now - self.since
        self.since = now

    def enter(self, stage: str) -> None:
        self.switch()
        self.running.append(stage)

    def leave(self) -> None:
        self.switch()
        self.running.pop()

    def wrap(self, function: Callable[..., Any], stage: str) -> Callable[..., Any]:
        def timed(*args: Any, **keywords: Any) -> Any:
            self.enter(stage)
            try:
                return function(*args, **keywords)
            finally:
                self.leave()

        return timed


def install(timer: StageTimer) -> None:
    """Replaces the functions of the stages, wherever a loaded module has them, and the initializers of classes."""
    loaded = [module for name, module in sys.modules.items() if name.startswith(PACKAGE)]
    for path, stage in STAGES.items():
        module_name, name = path.rsplit(".", 1)
        module = sys.modules.get(PACKAGE + module_name) or sys.modules.get(module_name)
        function = None if module is None else getattr(module, name)
        if isinstance(function, type):
            function.__init__ = timer.wrap(function.__init__, stage)  # type: ignore[misc]
        elif function is not None:
            timed = timer.wrap(function, stage)
            for user in {id(m): m for m in [*loaded, module]}.values():
                for attribute, value in [*vars(user).items()]:
                    if value is function:
                        setattr(user, attribute, timed)


def preload(names: list[str]) -> None:
    for name in names:
        with suppress(ImportError):
            importlib.import_module(name)


def main() -> None:
    model, feeds = sys.argv[1], dict(np.load(sys.argv[2]))
    if len(sys.argv) > 3:
        preload(json.loads(Path(sys.argv[3]).read_text()))
    import sardonyx as sx

    sx.Session  # noqa: B018  # imported at its first use
    timer = StageTimer()
    install(timer)
    timer.since = start = time.thread_time()
    session = sx.Session(model, threads=1, engine="native")
    timer.enter(RUN)
    session.run(feeds)
    timer.leave()
    total = time.thread_time() - start
    print(json.dumps({"stages": timer.seconds, "session": total, "modules": [*sys.modules]}))


if __name__ == "__main__":
    main()
