"""Random loops that edit sequences under several names, against lists: no edit is seen under another name."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.runtime.session.session import Engine

TEXT = """g (int64 n, seq(int64[1]) e0, seq(int64[1]) e1, seq(int64[1]) e2) => (s0, s1, s2) {{
  b = Constant <value = bool {{1}}> ()  zero = Constant <value = int64 {{0}}> ()  two = Constant <value = int64 {{2}}> ()
  minus = Constant <value = int64 {{-1}}> ()  flat = Constant <value = int64[1] {{0}}> ()
  s0, s1, s2 = Loop(n, b, e0, e1, e2) <body = f (int64 i, bool c, seq(int64[1]) v0, seq(int64[1]) v1, seq(int64[1]) v2) =>
      (bool d, seq(int64[1]) {results[0]}, seq(int64[1]) {results[1]}, seq(int64[1]) {results[2]}) {{
    d = Identity(c)  x = Unsqueeze(i, flat)  r = Mod(i, two)  odd = Cast <to = 9> (r)
    {nodes}
  }}>
}}"""
Scope = dict[str, list[int]]
START = [[-1, -2, -3], list(range(-100, 0)), list(range(-40, 0))]
COUNT = 45
POSITIONS = {"zero": 0, "minus": -1}


class RandomBody:
    """The nodes of a random body, and what they do to lists.  smallest: the least length that each sequence can have."""

    def __init__(self, seed: int) -> None:
        self.generator = np.random.default_rng(seed)
        self.nodes: list[str] = []
        self.actions: list[Callable[[Scope, int], None]] = []
        self.smallest = {"v0": 3, "v1": 40, "v2": 3}
        for _ in range(int(self.generator.integers(4, 12))):
            self.add_node()
        # States may change places, and become one sequence; erasures in a row are bounded by what each state keeps.
        enough = [name for name, length in self.smallest.items() if length >= 3]
        names = [str(self.generator.choice(np.array(enough))) for _ in range(3)]
        self.results = [f"o{k}" for k in range(3)]
        for result, name in zip(self.results, names, strict=True):
            self.nodes.append(f"{result} = Identity({name})")
            self.actions.append(partial(act, kind="name", source=name, name=result, position=0))

    def add_node(self) -> None:
        source = str(self.generator.choice(np.array(list(self.smallest))))
        name = f"t{len(self.nodes)}"
        kind = str(self.generator.choice(np.array(["insert", "insert", "append", "erase", "name", "branch"])))
        position = str(self.generator.choice(np.array(list(POSITIONS))))
        if kind == "erase" and self.smallest[source] <= 3:
            kind = "append"
        change = {"insert": 1, "append": 1, "erase": -1, "name": 0, "branch": 0}[kind]
        self.smallest[name] = self.smallest[source] + change if source != "v1" else 3
        insertion = f"SequenceInsert({source}, x, {position})"
        texts = {
            "insert": insertion,
            "append": f"SequenceInsert({source}, x)",
            "erase": f"SequenceErase({source}, {position})",
            "name": f"Identity({source})",
            "branch": f"If(odd) <then_branch = th () => (p) {{ p = {insertion} }}, else_branch = el () => (q) {{ q = Identity({source}) }}>",
        }
        self.nodes.append(f"{name} = {texts[kind]}")
        place = POSITIONS[position]
        self.actions.append(partial(act, kind=kind, source=source, name=name, position=place))

    def run(self) -> list[list[int]]:
        states = [list(elements) for elements in START]
        for i in range(COUNT):
            scope = {f"v{k}": state for k, state in enumerate(states)}
            for action in self.actions:
                action(scope, i)
            states = [scope[name] for name in self.results]
        return states


def act(scope: Scope, i: int, kind: str, source: str, name: str, position: int) -> None:
    """Writes the list that a node computes from another one."""
    elements = list(scope[source])
    if kind == "append":
        elements.append(i)
    elif kind == "erase":
        del elements[position]
    elif kind == "insert" or (kind == "branch" and i % 2):
        elements.insert(position, i)
    scope[name] = elements


@pytest.mark.parametrize("engine", ["reference", "auto"])
@pytest.mark.parametrize("seed", range(40))
def test_results_are_those_of_lists(seed: int, engine: Engine) -> None:
    body = RandomBody(seed)
    text = TEXT.format(results=body.results, nodes="\n    ".join(body.nodes))
    feeds = {f"e{k}": [np.array([number]) for number in elements] for k, elements in enumerate(START)}
    results = sx.Session(parse_model(text, opset=21), engine=engine).run({"n": np.array(COUNT), **feeds})
    actual = [[int(element.item()) for element in results[f"s{k}"]] for k in range(3)]
    assert actual == body.run()
    assert [[int(element.item()) for element in feeds[f"e{k}"]] for k in range(3)] == START
