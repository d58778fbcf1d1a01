"""Measures one tool in this process: python run_tool.py FACTS, in JSON; prints times and peaks in JSON.

facts: `tool`, a module of this folder; `path`, its model; `threads`; `prompts`, lengths; `tokens`, to generate after each
prompt; and what the tool needs more.  A tool has `open_model(facts)`, which returns a function from a prompt and a number of tokens
to an iterator of tokens.  Imports nothing but NumPy, for the environments of other tools.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

Continue = Callable[[list[int], int], Iterator[int]]
WARM_UP = 16


def resident(kind: str) -> int:
    """Bytes of memory of this process: VmRSS now, VmHWM at most."""
    with Path("/proc/self/status").open() as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith(kind))


def measure_prompt(run: Continue, prompt: list[int], tokens: int) -> dict[str, Any]:
    """Seconds of a prompt and of a token, by the clock and of the processor."""
    clocks = [[time.perf_counter(), time.process_time()]]
    chosen = []
    for token in run(prompt, tokens):
        clocks.append([time.perf_counter(), time.process_time()])
        chosen.append(token)
    steps = np.diff(np.array(clocks), axis=0)
    wall, processor = steps[0]
    median, least = np.median(steps[1:], axis=0), steps[1:].min(axis=0)
    return {
        "prompt": wall,
        "prompt_processor": processor,
        "token": median[0],
        "token_processor": least[1],
        "tokens": chosen,
        "peak": resident("VmHWM"),
    }


def main() -> None:
    facts = json.loads(sys.argv[1])
    start = time.perf_counter()
    run: Continue = importlib.import_module(facts["tool"]).open_model(facts)
    draw = np.random.default_rng(1)
    opened = time.perf_counter() - start
    list(run([1] * WARM_UP, 3))
    rows = {
        str(length): measure_prompt(run, draw.integers(0, 16_000, length).tolist(), facts["tokens"])
        for length in facts["prompts"]
    }
    print(json.dumps({"opened": opened, "prompts": rows}))


if __name__ == "__main__":
    main()
