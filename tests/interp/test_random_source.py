"""The random source of a session: created once, at first use."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from sardonyx._src.interp.run_state import RandomSource

PROGRAM = """
import sys
import numpy as np
import sardonyx as sx
text = '<ir_version: 10, opset_import: ["": 22]> g (float[2] x) => (float[2] y) { y = %s(x) }'
for engine in ("reference", "native"):
    sx.Session(sx.from_text(text % sys.argv[1]), engine=engine).run({"x": np.zeros(2, np.float32)})
print("numpy.random" in sys.modules)
"""


def loads_random(operator: str) -> str:
    command = [sys.executable, "-c", PROGRAM, operator]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def test_models_without_random_operators_do_not_load_numpy_random() -> None:
    assert loads_random("Neg") == "False"
    assert loads_random("RandomNormalLike") == "True"


def test_a_seed_determines_the_numbers() -> None:
    first, second = RandomSource(7), RandomSource(7)
    assert first().random() == second().random() != first().random()


def test_threads_share_the_generator() -> None:
    source = RandomSource()
    with ThreadPoolExecutor(8) as threads:
        generators = list(threads.map(lambda _: id(source()), range(64)))
    assert len(set(generators)) == 1
