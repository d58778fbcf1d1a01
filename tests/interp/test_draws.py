"""Random bits are made when they are first asked for, once."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from sardonyx._src.interp.draws import Draws

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


def test_models_without_random_operators_load_nothing_that_draws() -> None:
    assert loads_random("Neg") == "False"
    assert loads_random("RandomNormalLike") == "True"


def test_draws_of_a_seed_repeat_themselves_and_go_on() -> None:
    one, other = Draws(7), Draws(7)
    assert one().random() == other().random() != one().random()


def test_threads_share_what_is_made() -> None:
    draws = Draws()
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda _: id(draws()), range(64)))
    assert len(set(found)) == 1
