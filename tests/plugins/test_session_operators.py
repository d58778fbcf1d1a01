"""Operators of one session, which other sessions do not see."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sardonyx as sx
from models import parse_model

TEXT = "g (float[N] x) => (float[N] y) { a = test.session.Change(x) y = test.session.Change(a) }"
FUNCTION = """g (float[N] x) => (float[N] y) { y = local.f(x) }
<domain: "local", opset_import: ["": 21, "test.session": 1]> f (x) => (y) { y = test.session.Change(x) }"""
X = np.array([1, 2, 3], np.float32)


@sx.operator(
    "test.session",
    inputs={"x": "tensor(float)"},
    outputs={"y": "tensor(float)"},
    infer="same",
    register=False,
)
def Change(x: Any) -> Any:
    return x + 1


AddOne = Change


@sx.operator(
    "test.session",
    name="Change",
    inputs={"x": "tensor(float)"},
    outputs={"y": "tensor(float)"},
    infer="same",
    expression=lambda b, x: x * 2.0,
    register=False,
)
def Double(x: Any) -> Any:
    return x * 2


def model(text: str = TEXT) -> sx.Model:
    return parse_model(text, more='"test.session": 1, "local": 1')


@pytest.mark.parametrize("engine", ["reference", "native"])
def test_each_session_has_its_own_definition(engine: Any) -> None:
    add = sx.Session(model(), engine=engine, operators=[AddOne])
    double = sx.Session(model(), engine=engine, operators=[Double])
    assert add.run({"x": X})["y"].tolist() == [3, 4, 5]
    assert double.run({"x": X})["y"].tolist() == [4, 8, 12]
    assert add.run({"x": X})["y"].tolist() == [3, 4, 5]
    with pytest.raises(sx.UnsupportedOperator):
        sx.Session(model(), engine=engine)


def test_a_definition_of_the_session_takes_precedence() -> None:
    text = TEXT.replace("test.session", "test.both")

    @sx.operator(
        "test.both",
        name="Change",
        inputs={"x": "tensor(float)"},
        outputs={"y": "tensor(float)"},
        infer="same",
    )
    def Negate(x: Any) -> Any:
        return x * -1

    @sx.operator(
        "test.both",
        name="Change",
        inputs={"x": "tensor(float)"},
        outputs={"y": "tensor(float)"},
        infer="same",
        register=False,
    )
    def Triple(x: Any) -> Any:
        return x * 3

    source = parse_model(text, more='"test.both": 1')
    assert sx.Session(source, operators=[Triple]).run({"x": X})["y"].tolist() == [9, 18, 27]
    assert sx.Session(source).run({"x": X})["y"].tolist() == [1, 2, 3]


def test_functions_of_the_model_call_them() -> None:
    assert sx.Session(model(FUNCTION), operators=[AddOne]).run({"x": X})["y"].tolist() == [2, 3, 4]


def test_the_model_of_the_caller_is_unchanged() -> None:
    source = model()
    sx.Session(source, operators=[AddOne])
    assert [node.domain for node in source.graph.nodes] == ["test.session"] * 2
    assert sorted(source.opset_imports) == ["", "local", "test.session"]


def test_files_and_pickled_sessions(tmp_path: Path) -> None:
    sx.save(model(), tmp_path / "m.onnx")
    session = sx.Session(tmp_path / "m.onnx", operators=[Double])
    assert session.run({"x": X})["y"].tolist() == [4, 8, 12]
    assert pickle.loads(pickle.dumps(session)).run({"x": X})["y"].tolist() == [4, 8, 12]


@pytest.mark.parametrize("operators", [[len], ["Change"], 3, "Change"])
def test_what_is_no_operator_is_refused(operators: Any) -> None:
    with pytest.raises((TypeError, sx.InputError), match=r"^operators must be"):
        sx.Session(model(), operators=operators)
