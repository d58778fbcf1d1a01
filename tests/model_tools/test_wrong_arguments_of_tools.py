"""Every argument of `sx.tools`, with all kinds of wrong values: what is not accepted is an error of ours."""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import sardonyx as sx
import sardonyx.tools as public_tools
from public_face import Call, model
from test_wrong_arguments import WRONG, error_of, invoke, is_deliberate

FEEDS = {"x": np.ones((1, 2), np.float32)}
SIZES = {"dims": {"N": 2}}
RECORDS = {name for name in public_tools.__all__ if inspect.isclass(getattr(public_tools, name))}
SPELLINGS = {"externalize", "internalize"}  # the same functions by other names
# As much work as the caller asks for: large numbers in these take as long as they say.
AMOUNTS = {("bench", "turns"), ("bench", "threads"), ("profile", "threads")}

CALLS: dict[str, Callable[[], Call]] = {
    "bench": lambda: Call(
        public_tools.bench,
        {
            "model": model(),
            "feeds": FEEDS,
            "against": [],
            "threads": 1,
            "turns": 1,
            "seed": 1,
            "precision": "float32",
            **SIZES,
        },
    ),
    "certify": lambda: Call(
        public_tools.certify,
        {
            "model": model(),
            "feeds": FEEDS,
            "outputs": None,
            "engine": "reference",
            "precision": "float32",
            "seed": 1,
            "shapes": "inputs",
            "threads": 1,
        },
    ),
    "compare": lambda: Call(
        public_tools.compare,
        {
            "first": model(),
            "second": None,
            "feeds": FEEDS,
            "engine": "reference",
            "against": "reference",
            "tolerance": 0.1,
            "seed": 1,
            "bytes": 1000,
            **SIZES,
        },
    ),
    "compile": lambda: Call(
        public_tools.compile,
        {"model": model(), "target": "m.sdx", "precision": "float32", "processor": None},
    ),
    "compile_library": lambda: Call(
        public_tools.compile_library,
        {
            "model": model(),
            "folder": "library",
            "emit": "object",
            "prefix": "net",
            "weights_file": False,
            "processor": None,
            "precision": "float32",
            "dims": {"N": 2},
            "constants": {},
        },
    ),
    "convert_partially": lambda: Call(
        public_tools.convert_partially, {"model": model(), "opset": 22, "sets": {"": 22}, "ir_version": 11}
    ),
    "diff": lambda: Call(public_tools.diff, {"first": model(), "second": model(), "weights_tolerance": 0.1}),
    "digest": lambda: Call(public_tools.digest, {"values": FEEDS}),
    "doctor": lambda: Call(public_tools.doctor, {"again": False}),
    "externalise": lambda: Call(
        public_tools.externalise,
        {
            "model": model(),
            "target": "m.onnx",
            "location": "w.data",
            "threshold": 1,
            "one_file_per_tensor": False,
            "align": 1,
            "checksum": True,
        },
    ),
    "extract": lambda: Call(
        public_tools.extract, {"model": model(), "inputs": ["x"], "outputs": ["t"], "graph": "main"}
    ),
    "infer_partially": lambda: Call(public_tools.infer_partially, {"model": model(), "observer": None}),
    "inline": lambda: Call(public_tools.inline, {"model": model(), "functions": None}),
    "internalise": lambda: Call(
        public_tools.internalise, {"model": model(), "target": "m.onnx", "limit": 10_000}
    ),
    "merge": lambda: Call(
        public_tools.merge,
        {
            "first": model(),
            "second": model(),
            "connect": [("y", "x")],
            "prefix": "b_",
            "prefix_public": True,
            "keep_connected": True,
        },
    ),
    "node_costs": lambda: Call(public_tools.node_costs, {"model": model(), **SIZES}),
    "optimize_with_report": lambda: Call(
        public_tools.optimize_with_report,
        {
            "model": model(),
            "passes": None,
            "skip": ["fuse-gelu"],
            "verify": True,
            "stop_after": 3,
            "seconds": 5.0,
            "growth": 100,
            "result_growth": 100,
            "debug": False,
            "progress": lambda edits: None,
            **SIZES,
        },
    ),
    "profile": lambda: Call(
        public_tools.profile,
        {"model": model(), "feeds": FEEDS, "threads": 1, "seed": 1, "precision": "float32", **SIZES},
    ),
    "rename": lambda: Call(
        public_tools.rename,
        {
            "model": model(),
            "inputs": {"x": "a"},
            "outputs": {"y": "b"},
            "values": {"t": "c"},
            "nodes": {},
            "dims": {"N": "M"},
            "functions": {},
            "domains": {},
            "graph": "h",
            "regex": False,
        },
    ),
    "set_dims": lambda: Call(
        public_tools.set_dims, {"model": model(), "dims": {"N": 2}, "inputs": None, "free": None}
    ),
    "verify": lambda: Call(
        public_tools.verify,
        {
            "certificate": public_tools.certify(model(), FEEDS, engine="reference"),
            "model": model(),
            "feeds": FEEDS,
            "any_version": False,
            "threads": 1,
            "limits": None,
        },
    ),
    "warm": lambda: Call(
        public_tools.warm,
        {
            "models": saved_model(),
            "cache": "cache",
            "target": None,
            "threads": 1,
            "sizes": {"N": 2},
            "precision": "float32",
            "advance": lambda: None,
        },
    ),
}


def saved_model() -> str:
    """The path of a model in the current folder."""
    sx.save(model(), "m.onnx")
    return "m.onnx"


@pytest.fixture(autouse=True)
def in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_every_tool_and_argument_is_tried() -> None:
    assert {*public_tools.__all__} - RECORDS - SPELLINGS == set(CALLS)
    for name, make in CALLS.items():
        assert make().arguments.keys() == inspect.signature(getattr(public_tools, name)).parameters.keys()


@pytest.mark.parametrize("name", sorted(CALLS))
def test_wrong_arguments_are_refused_by_name_in_tools(name: str) -> None:
    call = CALLS[name]()
    invoke(call.function, call.arguments)
    for parameter in call.arguments:
        for kind, wrong in WRONG.items():
            if (name, parameter) in AMOUNTS and kind in ("2**63", "2**70"):
                continue
            call = CALLS[name]()
            error = error_of(call.function, {**call.arguments, parameter: wrong()})
            if error is not None and not is_deliberate(error):
                text = "".join(traceback.format_exception(error))
                pytest.fail(f"{name}({parameter}={kind}): {text}", pytrace=False)
