"""The public callables, each with valid arguments: functions, constructors and methods of the public modules."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import numpy as np
import pyarrow as pa

import sardonyx as sx
import sardonyx.backend as public_backend
import sardonyx.errors as public_errors
import sardonyx.ir as public_ir
from models import parse_model
from sardonyx import DataType
from sardonyx._src.ir.tensors import ArrayStorage
from train.training_texts import DESCENT, PAIR, REGRESSION, SWAP, training_text

MODULES: tuple[ModuleType, ...] = (sx, public_ir, public_errors, public_backend)
NO_CALLS = {"Type", "Storage", "__version__"}  # a union, a protocol, a string
X = np.array([[1, 2]], np.float32)
X3 = np.ones((2, 3), np.float32)
TEXT = "g (float[N,2] x) => (float[N,2] y) <float[2] w = {1, 2}> { t = Mul(x, w) y = Relu(t) }"
RELU = b"\x0a\x01x\x12\x01y\x22\x04Relu"  # a NodeProto


class Call(NamedTuple):
    """A callable with valid arguments by name."""

    function: Callable[..., object]
    arguments: Mapping[str, object]


def model() -> sx.Model:
    return parse_model(TEXT, opset=21)


def saved_model() -> Path:
    """A model file in the current directory."""
    path = Path("model.onnx")
    if not path.exists():
        sx.save(model(), path)
    return path


def operator_set() -> sx.OperatorSet:
    return sx.OperatorSet("com.example", 1, 10)


def saved_operator_set() -> Path:
    path = Path("set.onnxops")
    if not path.exists():
        sx.save_operator_set(operator_set(), path)
    return path


def session() -> sx.Session:
    return sx.Session(model(), engine="reference")


def table() -> pa.Table:
    return pa.table({"a": [1.0, 2.0], "b": [3.0, 4.0]})


def scorer_options() -> dict[str, object]:
    return {
        "model": saved_model(),
        "columns": {"x": ["a", "b"]},
        "outputs": ["y"],
        "keep": ["a"],
        "vectors": "lists",
        "nulls": "raise",
        "defaults": {"a": 1.0},
        "engine": "reference",
        "threads": 1,
    }


def score_options() -> dict[str, object]:
    jobs = {"rejects": None, "sink_format": "json", "batch_rows": 1, "memory": 1 << 20, "workers": 1}
    files = {
        "source": table(),
        "sink": "scored.jsonl",
        "source_format": None,
        "partition_by": [],
        "restart": False,
        "report": None,
        "ray": False,
    }
    return {**{name: value for name, value in scorer_options().items() if name != "threads"}, **jobs, **files}


def scorer() -> sx.Scorer:
    return sx.Scorer(model(), columns={"x": ["a", "b"]}, engine="reference")


def training_model() -> sx.Model:
    return sx.from_text(training_text(PAIR, [SWAP]))


def language_model() -> sx.Model:
    """A decoder without caches of three tokens."""
    return parse_model(
        "g (int64[B,S] tokens) => (float[B,S,3] logits) <float[3,3] w = {0, 1, 0, 0, 0, 1, 1, 0, 0}> { logits = Gather(w, tokens) }"
    )


def training_session() -> sx.TrainingSession:
    return sx.TrainingSession(training_model(), engine="reference")


def measured_training_session() -> sx.TrainingSession:
    """One whose step has a loss."""
    return sx.TrainingSession(sx.from_text(training_text(REGRESSION, [DESCENT])), engine="reference")


def value(name: str = "v") -> public_ir.Value:
    return public_ir.Value(name, public_ir.TensorType(DataType.FLOAT, (2,)))


def initializer(name: str = "w") -> public_ir.Value:
    return public_ir.Value(name, None, sx.Tensor.of(X))


def node(name: str = "") -> public_ir.Node:
    return public_ir.Node("Abs", [value("a")], [value("b")], name=name)


def attribute() -> public_ir.Attribute:
    return public_ir.Attribute("a", public_ir.AttributeType.INT, 1)


def graph() -> public_ir.Graph:
    """A graph with an input, an initializer and a node."""
    result = public_ir.Graph("g", [value("i")], [initializer()])
    result.append(node())
    return result


def with_graph(name: str, **arguments: Callable[[public_ir.Graph], object]) -> Call:
    """A method of a graph, with arguments that depend on it."""
    owner = graph()
    return Call(getattr(owner, name), {key: make(owner) for key, make in arguments.items()})


def first(graph: public_ir.Graph) -> public_ir.Node:
    return next(iter(graph.nodes))


def sparse() -> sx.SparseTensor:
    return sx.SparseTensor(
        sx.Tensor.of(np.array([1], np.float32)), sx.Tensor.of(np.array([1], np.int64)), (3,)
    )


def node_of(graph: public_ir.Graph) -> Call:
    other = public_ir.Node("Abs", [value("c")], [value("d")])
    graph.append(other)
    return Call(first(graph).take_output, {"slot": 0, "value": other.outputs[0]})


def options() -> dict[str, object]:
    """The keyword arguments of `load`."""
    return {
        "policy": "hub",
        "base": ".",
        "operator_sets": [saved_operator_set()],
        "limits": sx.Limits(),
        "verify_checksums": True,
    }


def session_options() -> dict[str, object]:
    return {
        "source": saved_model(),
        "engine": "reference",
        "threads": 1,
        "seed": 1,
        "limits": sx.RunLimits(),
        "policy": "hub",
        "operator_sets": [saved_operator_set()],
        "verify_checksums": True,
        "shapes": "inputs",
        "operators": [],
        "verify": "off",
    }


def report_fields() -> dict[str, object]:
    return {
        "scheme": "int4",
        "layers": (),
        "kept": (),
        "outputs": (),
        "runs": 1,
        "is_random": True,
        "bytes": (2, 1),
        "seconds": (2.0, 1.0),
    }


def quantization_report() -> sx.QuantizationReport:
    return sx.QuantizationReport(**report_fields())  # type: ignore[arg-type]


# Of `sx.quantize`; tests/quantize/test_scheme_options.py tries them with schemes that have them.
OPTIONS_OF_OTHER_SCHEMES = (
    "ranges", "activations", "equalize", "bias_correction", "format", "pairs", "accuracy", "metric", "resume", "size",
    "signal_to_noise", "latency", "keep_types", "bound",
)  # fmt: skip


def quantize_options() -> dict[str, object]:
    return {
        "model": model(),
        "scheme": "int4",
        "data": None,
        "columns": None,
        "algorithm": "nearest",
        "block": 32,
        "symmetric": True,
        "outliers": 0.0,
        **dict.fromkeys(OPTIONS_OF_OTHER_SCHEMES),
        "nodes": ["a*"],
        "exclude": ["b*"],
        "force": True,
        "rounds": 0,
        "shares": False,
        "seed": 0,
        "dims": {"N": 2},
        "progress": lambda done, total: None,
    }


def optimize_options() -> dict[str, object]:
    return {
        "model": model(),
        "passes": None,
        "skip": ["fuse-gelu"],
        "verify": True,
        "stop_after": 3,
        "seconds": 5.0,
        "growth": 100,
        "result_growth": 100,
        "debug": False,
        "dims": {"N": 2},
        "progress": lambda edits: None,
    }


def save_options() -> dict[str, object]:
    return {
        "model": model(),
        "target": "saved.onnx",
        "external": "weights.data",
        "shard_size": 100,
        "threshold": 1,
        "align": 1,
        "format": "binary",
        "checksum": True,
        "drop_unknown": False,
    }


def check_options() -> dict[str, object]:
    return {
        "source": saved_model(),
        "kind": "model",
        "select": ["SX2"],
        "ignore": ["SX201"],
        "strict": True,
        **options(),
    }


def view_options() -> dict[str, object]:
    runs = {"feeds": {"x": X}, "dims": {"N": 1}, "seed": 0}
    files = {"source": saved_model(), "other": saved_model()}
    return {
        **files,
        **runs,
        "profile": False,
        "report": None,
        "title": "a model",
        "kind": "model",
        "weights": False,
        "policy": "hub",
        "operator_sets": [saved_operator_set()],
        "verify_checksums": True,
    }


def backend_options() -> dict[str, object]:
    """The options that `Backend.prepare` passes on, by way of its keywords."""
    return {"model": saved_model(), "device": "CPU", "engine": "reference"}


def loop_body(iteration: object, condition: object, carried: object) -> tuple[object, object]:
    return condition, carried


def scan_body(carried: object, part: object) -> tuple[object, object]:
    return carried, part


def built() -> sx.Operand:
    """A constant of a builder."""
    return sx.Builder(21).constant("w", X)


def operator_options() -> dict[str, object]:
    tables = {"inputs": {"x": "T"}, "outputs": {"y": "T"}, "types": {"T": ["float"]}}
    return {
        "domain": "test.face",
        "name": "F",
        "version": 1,
        "infer": "same",
        "expression": None,
        "gradient": None,
        "native": None,
        "units": "rows",
        "tolerance": "rounding",
        "register": True,
        **tables,
    }


def run_async(feeds: object, outputs: object, **options: object) -> object:
    return session().run_async(feeds, outputs, **options).result()  # type: ignore[arg-type]


def arun(feeds: object, outputs: object, **options: object) -> object:
    return asyncio.run(session().arun(feeds, outputs, **options))  # type: ignore[arg-type]


def select_call() -> Call:
    operand = built()
    return Call(operand.builder.select, {"operand": operand, "index": 0})


def compute_call() -> Call:
    operand = built()
    return Call(operand.builder.compute, {"operand": operand})


FLOAT, INT64 = DataType.FLOAT, DataType.INT64
WHY = {"why": "a reason"}
LOCATED = {**WHY, "location": "graph"}
OPERATOR = {"domain": "", "op_type": "Abs", "version": 13, "location": "graph"}

CALLS: dict[str, Callable[[], Call]] = {
    "sardonyx.Builder": lambda: Call(sx.Builder, {"opset": 21, "name": "g", "imports": {"com.microsoft": 1}}),
    "sardonyx.Builder.tensor": lambda: Call(sx.Builder.tensor, {"dtype": FLOAT, "shape": ["N", 2]}),
    "sardonyx.Builder.input": lambda: Call(
        sx.Builder(21).input, {"name": "x", "dtype": FLOAT, "shape": [1, 2], "default": X, "example": X}
    ),
    "sardonyx.Builder.constant": lambda: Call(
        sx.Builder(21).constant, {"name": "w", "values": X, "dtype": FLOAT}
    ),
    "sardonyx.Builder.op": lambda: Call(
        sx.Builder(21).op,
        {"op_type": "Elu", "*inputs": X, "outputs": 1, "domain": "", "name": "n", "alpha": 1.0},
    ),
    "sardonyx.Builder.call": lambda: Call(
        sx.Builder(21).call, {"op_type": "Elu", "*inputs": X, "alpha": 1.0}
    ),
    "sardonyx.Builder.domain": lambda: Call(sx.Builder(21).domain, {"name": "ai.onnx.ml"}),
    "sardonyx.Builder.if_": lambda: Call(
        sx.Builder(21).if_, {"condition": True, "then_branch": lambda: 1.0, "else_branch": lambda: 2.0}
    ),
    "sardonyx.Builder.loop": lambda: Call(
        sx.Builder(21).loop,
        {"*body": loop_body, "*carried": 1.0, "trip_count": 2, "condition": True, "initial": []},
    ),
    "sardonyx.Builder.scan": lambda: Call(
        sx.Builder(21).scan,
        {"*body": scan_body, "*carried": np.zeros(2, np.float32), "scan_inputs": [X], "initial": []},
    ),
    "sardonyx.Builder.subgraph": lambda: Call(
        sx.Builder(21).subgraph,
        {"*body": lambda x: x, "*types": public_ir.TensorType(FLOAT), "taken": True},
    ),
    "sardonyx.Builder.function": lambda: Call(sx.Builder(21).function, {"domain": "local", "name": "f"}),
    "sardonyx.Builder.output": lambda: Call(
        sx.Builder(21).output, {"value": X, "name": "y", "type": public_ir.TensorType(FLOAT)}
    ),
    "sardonyx.Builder.model": lambda: Call(sx.Builder(21).model, {"ir_version": 10, "producer": "p", "y": X}),
    "sardonyx.Builder.select": lambda: select_call(),
    "sardonyx.Builder.compute": lambda: compute_call(),
    "sardonyx.Operand": lambda: Call(sx.Operand, {"builder": sx.Builder(21), "name": "x"}),
    "sardonyx.Operand.__getitem__": lambda: Call(built().__getitem__, {"index": 0}),
    "sardonyx.Operand.equal": lambda: Call(built().equal, {"other": X}),
    "sardonyx.Operand.numpy": lambda: Call(built().numpy, {}),
    "sardonyx.ir.GraphBuilder": lambda: Call(
        public_ir.GraphBuilder, {"opset": 21, "name": "g", "graph": graph()}
    ),
    "sardonyx.ir.GraphBuilder.tensor": lambda: Call(
        public_ir.GraphBuilder.tensor, {"dtype": FLOAT, "shape": ["N", 2]}
    ),
    "sardonyx.ir.GraphBuilder.input": lambda: Call(
        public_ir.GraphBuilder(21).input, {"name": "x", "dtype": FLOAT, "shape": ["N", 2]}
    ),
    "sardonyx.ir.GraphBuilder.constant": lambda: Call(
        public_ir.GraphBuilder(21).constant, {"name": "w", "values": X, "dtype": FLOAT}
    ),
    "sardonyx.ir.GraphBuilder.op": lambda: Call(
        public_ir.GraphBuilder(21).op,
        {"op_type": "Abs", "*inputs": value(), "outputs": 1, "domain": "", "name": "n", "alpha": 1.0},
    ),
    "sardonyx.ir.GraphBuilder.node": lambda: Call(
        public_ir.GraphBuilder(21).node,
        {"op_type": "Abs", "inputs": [value()], "outputs": ["y"], "domain": "", "name": "n", "alpha": 1.0},
    ),
    "sardonyx.ir.GraphBuilder.names": lambda: Call(
        public_ir.GraphBuilder(21).names, {"op_type": "Abs", "count": 2}
    ),
    "sardonyx.ir.GraphBuilder.output": lambda: Call(
        public_ir.GraphBuilder(21).output,
        {"value": value(), "name": "y", "type": public_ir.TensorType(FLOAT)},
    ),
    "sardonyx.ir.GraphBuilder.model": lambda: Call(
        public_ir.GraphBuilder(21).model, {"ir_version": 10, "producer": "p", "y": value()}
    ),
    "sardonyx.CancellationToken": lambda: Call(sx.CancellationToken, {}),
    "sardonyx.CancellationToken.cancel": lambda: Call(sx.CancellationToken().cancel, {}),
    "sardonyx.DataType": lambda: Call(DataType, {"value": 1}),
    "sardonyx.DataType.of": lambda: Call(DataType.of, {"dtype": np.dtype(np.float32)}),
    "sardonyx.DataType.from_number": lambda: Call(DataType.from_number, {"number": 1}),
    "sardonyx.DataType.parse": lambda: Call(DataType.parse, {"text": "float"}),
    "sardonyx.Diagnostic": lambda: Call(
        sx.Diagnostic,
        {
            "rule": "SX201",
            "name": "a",
            "severity": "error",
            "location": "graph",
            "message": "m",
            "help": "h",
            "clause": "c",
        },
    ),
    "sardonyx.Limits": lambda: Call(sx.Limits, {"nesting": 5, "records": 5, "size": 5}),
    "sardonyx.Model": lambda: Call(sx.Model, {"graph": graph(), "ir_version": 10, "opset_imports": {"": 21}}),
    "sardonyx.OperatorSet": lambda: Call(
        sx.OperatorSet,
        {
            "domain": "com.example",
            "version": 1,
            "ir_version": 10,
            "operators": [public_ir.OperatorDeclaration("A", 1)],
            "functions": [],
            "ir_version_prerelease": "",
            "ir_build_metadata": "",
            "doc": "",
            "details": None,
        },
    ),
    "sardonyx.OptimizationReport": lambda: Call(sx.OptimizationReport, {}),
    "sardonyx.OptimizationReport.of": lambda: Call(sx.OptimizationReport().of, {"name": "fuse-gelu"}),
    "sardonyx.OptimizationReport.text": lambda: Call(sx.OptimizationReport().text, {}),
    "sardonyx.OptimizationReport.as_json": lambda: Call(sx.OptimizationReport().as_json, {}),
    "sardonyx.Report": lambda: Call(sx.Report, {"diagnostics": ()}),
    "sardonyx.Model.copy": lambda: Call(model().copy, {}),
    "sardonyx.Report.counts": lambda: Call(sx.check(model()).counts, {}),
    "sardonyx.Report.listed": lambda: Call(sx.check(model()).listed, {"most": 3}),
    "sardonyx.Report.of": lambda: Call(sx.check(model()).of, {"severity": "error"}),
    "sardonyx.Report.omitted": lambda: Call(sx.check(model()).omitted, {"most": 3}),
    "sardonyx.Policy": lambda: Call(sx.Policy, {"value": "hub"}),
    "sardonyx.RunLimits": lambda: Call(
        sx.RunLimits, {"bytes": 5, "iterations": 5, "nodes": 5, "run_bytes": 5, "seconds": 5.0}
    ),
    "sardonyx.Session": lambda: Call(sx.Session, session_options()),
    "sardonyx.Session.close": lambda: Call(session().close, {}),
    "sardonyx.Session.cancel": lambda: Call(session().cancel, {}),
    "sardonyx.Session.reseed": lambda: Call(session().reseed, {"seed": 1}),
    "sardonyx.Session.run_async": lambda: Call(
        run_async, {"feeds": {"x": X}, "outputs": ["y"], "cast": "safe"}
    ),
    "sardonyx.Session.arun": lambda: Call(arun, {"feeds": {"x": X}, "outputs": ["y"], "cast": "safe"}),
    "sardonyx.Session.run": lambda: Call(
        session().run,
        {
            "feeds": {"x": X},
            "outputs": ["y"],
            "timeout": 5.0,
            "cancellation": sx.CancellationToken(),
            "out": {"y": np.zeros((1, 2), np.float32)},
            "cast": "safe",
        },
    ),
    "sardonyx.Session.trace": lambda: Call(session().trace, {"feeds": {"x": X}}),
    "sardonyx.Session.plan": lambda: Call(
        sx.Session(saved_model(), engine="native", threads=1).plan, {"lengths": {"N": 2}}
    ),
    "sardonyx.SessionStats": lambda: Call(
        sx.SessionStats,
        {
            "runs": 1,
            "fast_path_runs": 1,
            "bailouts": {},
            "fallback_nodes": 1,
            "compiler_faults": {},
            "programs": 1,
            "shape_warnings": 0,
            "specializations": 0,
            "compilations": 1,
        },
    ),
    "sardonyx.SparseTensor": lambda: Call(
        sx.SparseTensor,
        {"values": sx.Tensor.of(X[0]), "indices": sx.Tensor.of(np.array([0, 1], np.int64)), "shape": (3,)},
    ),
    "sardonyx.SparseTensor.numpy": lambda: Call(sparse().numpy, {"limit": 100}),
    "sardonyx.SparseTensor.linear_indices": lambda: Call(sparse().linear_indices, {}),
    "sardonyx.Tensor": lambda: Call(
        sx.Tensor, {"dtype": FLOAT, "shape": (1, 2), "storage": ArrayStorage(X), "name": "t"}
    ),
    "sardonyx.Tensor.of": lambda: Call(sx.Tensor.of, {"values": X, "dtype": FLOAT, "name": "t"}),
    "sardonyx.Tensor.numpy": lambda: Call(sx.Tensor.of(X).numpy, {}),
    "sardonyx.TrainingSession": lambda: Call(
        sx.TrainingSession,
        {
            "source": training_model(),
            "engine": "reference",
            "threads": 1,
            "seed": 1,
            "limits": sx.RunLimits(),
        },
    ),
    "sardonyx.TrainingSession.initialize": lambda: Call(training_session().initialize, {}),
    "sardonyx.TrainingSession.step": lambda: Call(
        training_session().step, {"feeds": {}, "index": 0, "seed": 1, "inference_outputs": False}
    ),
    "sardonyx.TrainingSession.evaluate": lambda: Call(
        measured_training_session().evaluate, {"feeds": {"x": X3, "t": X3[:, :1]}, "index": 0}
    ),
    "sardonyx.TrainingSession.infer": lambda: Call(training_session().infer, {"feeds": {}, "outputs": None}),
    "sardonyx.TrainingSession.save": lambda: Call(training_session().save, {"target": "trained.onnx"}),
    "sardonyx.TrainingSession.checkpoint": lambda: Call(training_session().checkpoint, {}),
    "sardonyx.Generator": lambda: Call(
        sx.Generator,
        {
            "source": language_model(),
            "tokenizer": None,
            "chat_template": "{{ messages }}",
            "context": 8,
            "end_tokens": [1],
            "start_tokens": [1],
            "encoder": None,
            "roles": {"tokens": "tokens"},
            "sizes": {},
            "prefix_bytes": 1,
            "draft": "lookup",
            "draft_tokens": 2,
        },
    ),
    "sardonyx.Generator.generate": lambda: Call(
        sx.Generator(language_model()).generate, {"prompt": [1], "inputs": {}, "cancellation": None}
    ),
    "sardonyx.Generator.stream": lambda: Call(
        lambda **options: list(sx.Generator(language_model()).stream(**options)),
        {"prompt": [1], "inputs": {}, "cancellation": None, "advance": None},
    ),
    "sardonyx.Generator.astream": lambda: Call(
        sx.Generator(language_model()).astream, {"prompt": [1], "inputs": {}}
    ),
    "sardonyx.Generator.encode": lambda: Call(sx.Generator(language_model()).encode, {"prompt": [1]}),
    "sardonyx.check": lambda: Call(sx.check, check_options()),
    "sardonyx.convert": lambda: Call(
        sx.convert, {"model": model(), "opset": 22, "sets": {"": 22}, "ir_version": 11}
    ),
    "sardonyx.from_json": lambda: Call(sx.from_json, {"source": sx.to_json(model())}),
    "sardonyx.from_text": lambda: Call(sx.from_text, {"source": sx.to_text(model())}),
    "sardonyx.gradient": lambda: Call(sx.gradient, {"model": model(), "of": "y", "wrt": ["x"]}),
    "sardonyx.infer": lambda: Call(sx.infer, {"model": model(), "observer": None}),
    "sardonyx.load": lambda: Call(sx.load, {"source": saved_model(), "copy": True, **options()}),
    "sardonyx.load_operator_set": lambda: Call(sx.load_operator_set, {"source": saved_operator_set()}),
    "sardonyx.operator": lambda: Call(sx.operator, operator_options()),
    "sardonyx.Quantization": lambda: Call(
        sx.Quantization, {"model": model(), "report": quantization_report()}
    ),
    "sardonyx.QuantizationReport": lambda: Call(sx.QuantizationReport, report_fields()),
    "sardonyx.QuantizationReport.as_json": lambda: Call(quantization_report().as_json, {}),
    "sardonyx.QuantizationReport.rows": lambda: Call(quantization_report().rows, {}),
    "sardonyx.QuantizationReport.summary": lambda: Call(quantization_report().summary, {}),
    "sardonyx.quantize": lambda: Call(sx.quantize, quantize_options()),
    "sardonyx.optimize": lambda: Call(sx.optimize, optimize_options()),
    "sardonyx.save": lambda: Call(sx.save, save_options()),
    "sardonyx.save_operator_set": lambda: Call(
        sx.save_operator_set, {"operator_set": operator_set(), "target": "saved.onnxops"}
    ),
    "sardonyx.from_onnx": lambda: Call(sx.from_onnx, {"message": sx.to_onnx(model())}),
    "sardonyx.score": lambda: Call(sx.score, score_options()),
    "sardonyx.Predictor": lambda: Call(
        sx.Predictor,
        {n: v for n, v in scorer_options().items() if n not in ("outputs", "keep", "vectors")},
    ),
    "sardonyx.Predictor.predict": lambda: Call(sx.Predictor(model()).predict, {"rows": X}),
    "sardonyx.Predictor.predict_proba": lambda: Call(sx.Predictor(model()).predict_proba, {"rows": X}),
    "sardonyx.Scorer": lambda: Call(sx.Scorer, scorer_options()),
    "sardonyx.Scorer.score": lambda: Call(scorer().score, {"table": table()}),
    "sardonyx.to_onnx": lambda: Call(sx.to_onnx, {"model": model()}),
    "sardonyx.to_python": lambda: Call(sx.to_python, {"model": model(), "file": "m.onnx"}),
    "sardonyx.to_json": lambda: Call(sx.to_json, {"model": model(), "indent": 2, "drop_unknown": False}),
    "sardonyx.view": lambda: Call(
        sx.view,
        view_options(),
    ),
    "sardonyx.to_text": lambda: Call(
        sx.to_text, {"model": model(), "max_elements": 2, "drop_unknown": False}
    ),
    "sardonyx.ir.Attribute": lambda: Call(
        public_ir.Attribute,
        {"name": "a", "type": public_ir.AttributeType.INT, "value": 1, "ref": "", "doc": ""},
    ),
    "sardonyx.ir.AttributeType": lambda: Call(public_ir.AttributeType, {"value": 2}),
    "sardonyx.ir.DeviceConfiguration": lambda: Call(
        public_ir.DeviceConfiguration, {"name": "d", "num_devices": 1, "device": ["a"]}
    ),
    "sardonyx.ir.Function": lambda: Call(
        public_ir.Function, {"domain": "d", "name": "f", "body": graph(), "overload": ""}
    ),
    "sardonyx.ir.Graph": lambda: Call(
        public_ir.Graph, {"name": "g", "inputs": [value()], "initializers": [initializer()]}
    ),
    "sardonyx.ir.Graph.add_input": lambda: Call(graph().add_input, {"value": value(), "index": 0}),
    "sardonyx.ir.Graph.remove_input": lambda: with_graph("remove_input", value=lambda g: g.inputs[0]),
    "sardonyx.ir.Graph.value": lambda: Call(graph().value, {"name": graph().inputs[0].name}),
    "sardonyx.ir.Graph.has_input": lambda: with_graph("has_input", value=lambda g: g.inputs[0]),
    "sardonyx.ir.Graph.add_initializer": lambda: Call(graph().add_initializer, {"value": initializer("u")}),
    "sardonyx.ir.Graph.remove_initializer": lambda: with_graph(
        "remove_initializer", value=lambda g: g.initializers["w"]
    ),
    "sardonyx.ir.Graph.append": lambda: Call(graph().append, {"node": node()}),
    "sardonyx.ir.Graph.insert_before": lambda: with_graph(
        "insert_before", place=first, node=lambda g: node()
    ),
    "sardonyx.ir.Graph.insert_after": lambda: with_graph("insert_after", place=first, node=lambda g: node()),
    "sardonyx.ir.Graph.remove": lambda: with_graph("remove", node=first),
    "sardonyx.ir.Graph.position": lambda: with_graph("position", node=first),
    "sardonyx.ir.Graph.clear": lambda: Call(graph().clear, {}),
    "sardonyx.ir.Graph.release": lambda: Call(graph().release, {}),
    "sardonyx.ir.MapType": lambda: Call(
        public_ir.MapType, {"key": INT64, "value": public_ir.TensorType(FLOAT), "denotation": ""}
    ),
    "sardonyx.ir.Node": lambda: Call(
        public_ir.Node,
        {
            "op_type": "Abs",
            "inputs": [value("a")],
            "outputs": [value("b")],
            "attributes": {"a": attribute()},
            "domain": "",
            "overload": "",
            "name": "n",
        },
    ),
    "sardonyx.ir.Node.set_input": lambda: Call(node().set_input, {"slot": 0, "value": value()}),
    "sardonyx.ir.Node.set_inputs": lambda: Call(node().set_inputs, {"values": [value()]}),
    "sardonyx.ir.Node.take_output": lambda: node_of(graph()),
    "sardonyx.ir.Node.add_output": lambda: Call(node().add_output, {"value": value("new")}),
    "sardonyx.ir.Node.drop_outputs": lambda: Call(node().drop_outputs, {"count": 0}),
    "sardonyx.ir.Node.set_attribute": lambda: Call(node().set_attribute, {"attribute": attribute()}),
    "sardonyx.ir.NodeDeviceConfiguration": lambda: Call(
        public_ir.NodeDeviceConfiguration, {"configuration_id": "c", "pipeline_stage": 1}
    ),
    "sardonyx.ir.Note": lambda: Call(public_ir.Note, {"location": "graph", "message": "m"}),
    "sardonyx.ir.OpaqueType": lambda: Call(
        public_ir.OpaqueType, {"domain": "d", "name": "n", "denotation": ""}
    ),
    "sardonyx.ir.OperatorDeclaration": lambda: Call(
        public_ir.OperatorDeclaration, {"op_type": "A", "since_version": 1}
    ),
    "sardonyx.ir.OperatorStatus": lambda: Call(public_ir.OperatorStatus, {"value": 1}),
    "sardonyx.ir.OptionalType": lambda: Call(
        public_ir.OptionalType, {"elem": public_ir.TensorType(FLOAT), "denotation": ""}
    ),
    "sardonyx.ir.QuantizationAnnotation": lambda: Call(
        public_ir.QuantizationAnnotation, {"tensor": "x", "parameters": {"SCALE_TENSOR": "s"}}
    ),
    "sardonyx.ir.SequenceType": lambda: Call(
        public_ir.SequenceType, {"elem": public_ir.TensorType(FLOAT), "denotation": ""}
    ),
    "sardonyx.ir.ShardedDim": lambda: Call(public_ir.ShardedDim, {"axis": 0}),
    "sardonyx.ir.ShardingSpec": lambda: Call(public_ir.ShardingSpec, {"tensor": "x", "device": [0]}),
    "sardonyx.ir.SimpleShardedDim": lambda: Call(public_ir.SimpleShardedDim, {"dim": 2, "num_shards": 2}),
    "sardonyx.ir.SparseTensorType": lambda: Call(
        public_ir.SparseTensorType, {"dtype": FLOAT, "shape": (2, None)}
    ),
    "sardonyx.ir.TensorType": lambda: Call(public_ir.TensorType, {"dtype": FLOAT, "shape": (2, None)}),
    "sardonyx.ir.TrainingInfo": lambda: Call(
        public_ir.TrainingInfo, {"initialization": graph(), "algorithm": graph()}
    ),
    "sardonyx.ir.Value": lambda: Call(
        public_ir.Value,
        {"name": "v", "type": public_ir.TensorType(FLOAT), "initializer": sx.Tensor.of(X)},
    ),
    "sardonyx.ir.Value.replace_by": lambda: Call(first(graph()).outputs[0].replace_by, {"other": value()}),
    "sardonyx.ir.clone": lambda: Call(public_ir.clone, {"model": model()}),
    "sardonyx.ir.verify": lambda: Call(public_ir.verify, {"model": model()}),
    "sardonyx.errors.CompilationError.of": lambda: Call(
        public_errors.CompilationError.of,
        {"defect": AssertionError("a"), "stage": "lower", "location": "graph"},
    ),
    "sardonyx.backend.Backend": lambda: Call(public_backend.Backend, {}),
    "sardonyx.backend.BackendRep": lambda: Call(public_backend.BackendRep, {"session": session()}),
    "sardonyx.backend.BackendRep.run": lambda: Call(
        public_backend.BackendRep(session()).run, {"inputs": [X]}
    ),
    "sardonyx.backend.Outputs": lambda: Call(public_backend.Outputs, {"names": ["y"], "values": [X]}),
    "sardonyx.backend.Outputs.__getitem__": lambda: Call(
        public_backend.Outputs(["y"], [X]).__getitem__, {"*key": "y"}
    ),
} | {
    f"sardonyx.backend.{owner}{name}": make
    for owner in ("", "Backend.")
    for name, make in {
        "is_compatible": lambda: Call(public_backend.is_compatible, backend_options()),
        "prepare": lambda: Call(public_backend.prepare, backend_options()),
        "run_model": lambda: Call(public_backend.run_model, {"inputs": [X], **backend_options()}),
        "run_node": lambda: Call(
            public_backend.run_node,
            {
                "node": RELU,
                "inputs": [X],
                "device": "CPU",
                "outputs_info": [(np.dtype(np.float32), (1, 2))],
                "opset_version": 21,
                "engine": "reference",
            },
        ),
        "supports_device": lambda: Call(public_backend.supports_device, {"device": "CPU"}),
    }.items()
}
ERRORS: dict[str, Mapping[str, object]] = {
    "SardonyxError": {},
    "CancelledError": {},
    "CompilerWarning": {},
    "ShapeWarning": {},
    "DecodeError": {**WHY, "offset": 3, "path": "graph", "source": "m.onnx"},
    "TextError": {**WHY, "line": 1, "column": 1, "source": "m.onnx"},
    "JsonError": {**WHY, "path": "graph"},
    "LimitError": {**WHY, "limit": "limit"},
    "InvalidModel": LOCATED,
    "ExternalDataError": LOCATED,
    "EvaluationError": LOCATED,
    "Located": LOCATED,
    "FileChanged": {**WHY, "path": "m.onnx"},
    "InputError": {**WHY, "name": "x"},
    "CertificateError": {**WHY, "name": "certificate"},
    "OutputError": {**WHY, "name": "x"},
    "UnsupportedOperator": {**OPERATOR, "facet": "kernel", "hint": ""},
    "InferenceError": {**LOCATED, "about": ""},
    "CompilationError": {**LOCATED, "stage": "lower"},
    "UnsupportedProcessor": {**WHY, "features": ("avx2",)},
    "VerificationError": {
        **WHY,
        "output": "y",
        "node": "node[0] (Relu)",
        "step": "step 0, map_f32 (y)",
        "error": 0.5,
        "tolerance": 1e-4,
    },
    "MissingPackage": {**WHY, "package": "llvmlite"},
    "ConversionError": {**WHY, **OPERATOR, "target": 14},
    "DifferentiationError": {**WHY, **OPERATOR},
    "TrainingDiverged": {**WHY, "epoch": 1, "step": 1},
    "OptimizationError": {**WHY, "edit": 1, "name": "fuse-gelu", "place": "graph"},
}
CALLS |= {
    f"sardonyx.errors.{name}": lambda name=name, arguments=arguments: Call(  # type: ignore[misc]
        getattr(public_errors, name), arguments
    )
    for name, arguments in ERRORS.items()
}


def public_callables() -> Iterator[str]:
    """The names of all public callables; each once, although some modules export the same."""
    seen: set[int] = set()
    for module in (public_errors, sx, public_ir, public_backend):
        for name in module.__all__:
            member = getattr(module, name)
            if name in NO_CALLS or id(member) in seen:
                continue
            seen.add(id(member))
            yield f"{module.__name__}.{name}"
            if inspect.isclass(member):
                yield from (f"{module.__name__}.{name}.{method}" for method in methods(member))


def methods(owner: type) -> Iterator[str]:
    for name, member in vars(owner).items():
        function = member.__func__ if isinstance(member, classmethod | staticmethod) else member
        if (not name.startswith("_") or name == "__getitem__") and inspect.isfunction(function):
            yield name
