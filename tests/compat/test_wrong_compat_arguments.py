"""Wrong arguments of the interfaces of other packages: what is not accepted is one of their exceptions, or ours."""

from __future__ import annotations

import inspect
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import sardonyx as sx
import sardonyx.compat.onnx as public_onnx
import sardonyx.compat.onnxruntime as ort
from public_face import Call, model
from sardonyx._src.compat.onnxruntime.exceptions import OrtError
from test_wrong_arguments import WRONG, error_of, is_deliberate

X = np.ones((1, 2), np.float32)
BY_SESSIONS = {
    "IOBinding.store",
    "ModelMetadata",
    "NodeArg",
    "NodeArg.of",
    "SessionIOBinding",
}
DEVICE = {"device_type": "cpu", "device_id": 0}


def saved() -> str:
    path = Path("model.onnx")
    if not path.exists():
        sx.save(model(), path)
    return str(path)


def session() -> ort.InferenceSession:
    return ort.InferenceSession(saved())


def ort_value() -> ort.OrtValue:
    return ort.OrtValue.ortvalue_from_numpy(X)


def bound() -> ort.IOBinding:
    binding = session().io_binding()
    binding.bind_cpu_input("x", X)
    binding.bind_output("y")
    return binding


def callback(results: object, user_data: object, error: object) -> None:
    pass


def evaluator() -> public_onnx.ReferenceEvaluator:
    return public_onnx.ReferenceEvaluator(model())


def open_with_size(name: str, size: int) -> None:
    options = ort.SessionOptions()
    options.add_free_dimension_override_by_name(name, size)
    ort.InferenceSession(saved(), options)


def open_with_initializer(name: str, value: ort.OrtValue) -> None:
    options = ort.SessionOptions()
    options.add_initializer(name, value)
    ort.InferenceSession(saved(), options)


def run_bound(name: str, shape: object) -> None:
    binding = session().io_binding()
    binding.bind_input("x", "cpu", 0, np.float32, shape, X.ctypes.data)  # type: ignore[arg-type]
    binding.bind_output(name)
    session().run_with_iobinding(binding)


def is_documented(error: Exception) -> bool:
    """Whether an error is an exception of onnxruntime, which also raises RuntimeError, or one that ours may be."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    is_raised = type(error) is RuntimeError and last.line is not None and last.line.startswith("raise ")
    return is_raised or isinstance(error, OrtError) or is_deliberate(error)


FEEDS = {"output_names": ["y"], "input_feed": {"x": X}, "run_options": None}
CALLS: dict[str, Callable[[], Call]] = {
    "ExecutionMode": lambda: Call(ort.ExecutionMode, {"value": 0}),
    "ExecutionOrder": lambda: Call(ort.ExecutionOrder, {"value": 0}),
    "GraphOptimizationLevel": lambda: Call(ort.GraphOptimizationLevel, {"value": 0}),
    "OrtAllocatorType": lambda: Call(ort.OrtAllocatorType, {"value": 0}),
    "OrtMemType": lambda: Call(ort.OrtMemType, {"value": 0}),
    "OrtDevice": lambda: Call(ort.OrtDevice, {"name": "cpu", "device_id": 0}),
    "OrtDevice.make": lambda: Call(ort.OrtDevice.make, {"name": "cpu", "device_id": 0, "vendor_id": 0}),
    "OrtValue": lambda: Call(ort.OrtValue, {"value": X, "onnx_type": 1}),
    "OrtValue.ortvalue_from_numpy": lambda: Call(
        ort.OrtValue.ortvalue_from_numpy, {"*numpy_obj": X, **DEVICE, "vendor_id": -1}
    ),
    "OrtValue.ortvalue_from_numpy_with_onnx_type": lambda: Call(
        ort.OrtValue.ortvalue_from_numpy_with_onnx_type, {"*data": X, "onnx_element_type": 1}
    ),
    "OrtValue.ortvalue_from_shape_and_type": lambda: Call(
        ort.OrtValue.ortvalue_from_shape_and_type,
        {"shape": [2, 3], "element_type": np.float32, **DEVICE, "vendor_id": -1, "memory_info": None},
    ),
    "OrtValue.from_dlpack": lambda: Call(ort.OrtValue.from_dlpack, {"*data": X}),
    "OrtValue.update_inplace": lambda: Call(ort_value().update_inplace, {"data": X + 1}),
    "InferenceSession": lambda: Call(
        ort.InferenceSession,
        {
            "path_or_bytes": saved(),
            "sess_options": ort.SessionOptions(),
            "providers": ["CPUExecutionProvider"],
            "provider_options": [{}],
        },
    ),
    "InferenceSession.set_providers": lambda: Call(
        session().set_providers, {"providers": ["CPUExecutionProvider"], "provider_options": [{}]}
    ),
    "InferenceSession.run": lambda: Call(session().run, FEEDS),
    "InferenceSession.run_with_ort_values": lambda: Call(
        session().run_with_ort_values,
        {"output_names": ["y"], "input_dict_ort_values": {"x": ort_value()}, "run_options": None},
    ),
    "InferenceSession.run_with_iobinding": lambda: Call(
        session().run_with_iobinding, {"iobinding": bound(), "run_options": None}
    ),
    "InferenceSession.run_async": lambda: Call(
        session().run_async, {**FEEDS, "callback": callback, "user_data": None}
    ),
    "IOBinding": lambda: Call(ort.IOBinding, {"session": session()}),
    "IOBinding.bind_cpu_input": lambda: Call(bound().bind_cpu_input, {"name": "x", "arr_on_cpu": X}),
    "IOBinding.bind_input": lambda: Call(
        bound().bind_input,
        {"name": "x", **DEVICE, "element_type": np.float32, "shape": [1, 2], "buffer_ptr": X.ctypes.data},
    ),
    "IOBinding.bind_ortvalue_input": lambda: Call(
        bound().bind_ortvalue_input, {"name": "x", "ortvalue": ort_value()}
    ),
    "IOBinding.bind_output": lambda: Call(
        bound().bind_output,
        {"name": "y", **DEVICE, "element_type": None, "shape": None, "buffer_ptr": None},
    ),
    "IOBinding.bind_ortvalue_output": lambda: Call(
        bound().bind_ortvalue_output, {"name": "y", "ortvalue": ort_value()}
    ),
    "RunOptions.add_run_config_entry": lambda: Call(
        ort.RunOptions().add_run_config_entry, {"key": "k", "value": "v"}
    ),
    "RunOptions.get_run_config_entry": lambda: Call(ort.RunOptions().get_run_config_entry, {"key": "k"}),
    "RunOptions.add_active_adapter": lambda: Call(ort.RunOptions().add_active_adapter, {"adapter": None}),
    "SessionOptions.add_session_config_entry": lambda: Call(
        ort.SessionOptions().add_session_config_entry, {"key": "k", "value": "v"}
    ),
    "SessionOptions.get_session_config_entry": lambda: Call(
        ort.SessionOptions().get_session_config_entry, {"key": "k"}
    ),
    "SessionOptions.add_free_dimension_override_by_name": lambda: Call(
        ort.SessionOptions().add_free_dimension_override_by_name, {"name": "N", "size": 2}
    ),
    "SessionOptions.add_free_dimension_override_by_denotation": lambda: Call(
        ort.SessionOptions().add_free_dimension_override_by_denotation, {"denotation": "N", "size": 2}
    ),
    "a session with a fixed dimension": lambda: Call(open_with_size, {"name": "N", "size": 2}),
    "a session with a replaced initializer": lambda: Call(
        open_with_initializer,
        {"name": "w", "value": ort.OrtValue.ortvalue_from_numpy(np.ones(2, np.float32))},
    ),
    "a run of bound memory": lambda: Call(run_bound, {"name": "y", "shape": [1, 2]}),
    "SessionOptions.add_initializer": lambda: Call(
        ort.SessionOptions().add_initializer, {"name": "w", "value": ort_value()}
    ),
    "SessionOptions.add_external_initializers": lambda: Call(
        ort.SessionOptions().add_external_initializers, {"names": ["w"], "values": [ort_value()]}
    ),
    "SessionOptions.add_provider": lambda: Call(
        ort.SessionOptions().add_provider, {"name": "CPUExecutionProvider", "options": {}}
    ),
    "SessionOptions.register_custom_ops_library": lambda: Call(
        ort.SessionOptions().register_custom_ops_library, {"path": __file__}
    ),
    "set_default_logger_severity": lambda: Call(ort.set_default_logger_severity, {"severity": 2}),
    "set_default_logger_verbosity": lambda: Call(ort.set_default_logger_verbosity, {"level": 0}),
    "set_global_thread_pool_sizes": lambda: Call(
        ort.set_global_thread_pool_sizes, {"intra_op": 1, "inter_op": 1}
    ),
    "set_seed": lambda: Call(ort.set_seed, {"seed": 1}),
    "ReferenceEvaluator": lambda: Call(
        public_onnx.ReferenceEvaluator,
        {
            "proto": model(),
            "opsets": None,
            "functions": None,
            "verbose": 0,
            "new_ops": None,
            "check_shape_annotations": False,
        },
    ),
    "ReferenceEvaluator.run": lambda: Call(
        evaluator().run,
        {"output_names": ["y"], "feed_inputs": {"x": X}, "attributes": None, "intermediate": False},
    ),
    "from_onnx": lambda: Call(public_onnx.from_onnx, {"message": model()}),
    "to_onnx": lambda: Call(public_onnx.to_onnx, {"model": model()}),
}


@pytest.fixture(autouse=True)
def in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    warnings.simplefilter("ignore")  # notices of what has no effect


def test_every_call_with_arguments_is_tried() -> None:
    """Those of SessionIOBinding are those of IOBinding; what sessions alone call is left out."""
    expected = {*public_onnx.__all__, "ReferenceEvaluator.run"}
    for name in dir(ort):
        member = getattr(ort, name)
        if name.startswith("_") or not callable(member) or name in BY_SESSIONS:
            continue
        methods = (
            {f"{name}.{method}": getattr(member, method) for method in vars(member)}
            if inspect.isclass(member)
            else {}
        )
        calls = {name: member, **{n: f for n, f in methods.items() if "._" not in n and inspect.isroutine(f)}}
        expected |= {n for n, call in calls.items() if takes_arguments(call)} - BY_SESSIONS
    assert expected <= CALLS.keys()


def takes_arguments(call: Callable[..., object]) -> bool:
    kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    parameters = inspect.signature(call).parameters.values()
    return any(p.name != "self" and p.kind not in kinds for p in parameters)


@pytest.mark.parametrize("name", sorted(CALLS))
def test_wrong_arguments_are_refused_by_name_in_compat(name: str) -> None:
    call = CALLS[name]()
    failure = error_of(call.function, call.arguments)
    assert failure is None or is_documented(failure), failure
    for parameter in call.arguments:
        for kind, wrong in WRONG.items():
            call = CALLS[name]()
            error = error_of(call.function, {**call.arguments, parameter: wrong()})
            if error is not None and not is_documented(error):
                text = "".join(traceback.format_exception(error))
                pytest.fail(f"{name}({parameter}={kind}): {text}", pytrace=False)
