"""Names by which other packages reach onnxruntime: private attributes, helpers for transformers, and those that are not here."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import onnxruntime
import pytest

import sardonyx as sx
import sardonyx.compat.onnxruntime as ours
from sardonyx.compat.onnxruntime.transformers.io_binding_helper import TypeHelper

MODULES = pytest.mark.parametrize("ort", [onnxruntime, ours], ids=["onnxruntime", "sardonyx"])
MODEL = """
<ir_version: 8, opset_import: ["": 17]>
g (float16[N] x, bool[N] b, int64[N] k) => (float16[N] y, bool[N] c, string[N] s)
{ y = Neg(x)  c = Not(b)  s = Cast<to = 8>(k) }
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    sx.save(sx.from_text(MODEL), tmp_path / "m.onnx")
    return tmp_path / "m.onnx"


def run_installed(code: str) -> str:
    """What a program prints after `install()`."""
    program = f"import sardonyx.compat\nsardonyx.compat.install()\n{code}"
    process = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stderr
    return process.stdout.strip()


@MODULES
def test_sessions_have_the_private_attributes_that_packages_read(ort: ModuleType, path: Path) -> None:
    session = ort.InferenceSession(path, providers=["CPUExecutionProvider"])
    assert session._model_path == str(path)
    assert ort.InferenceSession(path.read_bytes())._model_path is None
    assert (session._providers, session._provider_options) == (
        ["CPUExecutionProvider"],
        {"CPUExecutionProvider": {}},
    )
    assert [arg.name for arg in session._inputs_meta] == [arg.name for arg in session.get_inputs()]
    assert [arg.name for arg in session._outputs_meta] == [arg.name for arg in session.get_outputs()]
    states = [session._enable_fallback]
    for switch in (session.disable_fallback, session.enable_fallback):
        switch()
        states.append(session._enable_fallback)
    assert states == [True, False, True]


@MODULES
def test_a_binding_is_made_of_a_session(ort: ModuleType, path: Path) -> None:
    session = ort.InferenceSession(path)
    binding = ort.IOBinding(session)
    for name, array in {"x": np.ones(2, np.float16), "b": np.array([True, False])}.items():
        binding.bind_input(name, "cpu", 0, array.dtype.type, array.shape, array.ctypes.data)
    binding.bind_cpu_input("k", np.arange(2))
    for name in ("y", "c"):
        binding.bind_output(name)
    session.run_with_iobinding(binding)
    assert [value._ortvalue.numpy().tolist() for value in binding.get_outputs()] == [[-1, -1], [False, True]]


def test_a_binding_without_outputs_has_those_of_its_session(path: Path) -> None:
    assert ours.IOBinding(ours.InferenceSession(path)).names() == ["y", "c", "s"]
    with pytest.raises(TypeError, match="session must be an InferenceSession; got str"):
        ours.IOBinding("m.onnx")  # type: ignore[arg-type]


def test_types_of_a_session(path: Path) -> None:
    session = ours.InferenceSession(path)
    assert TypeHelper.get_input_type(session, "b") == "tensor(bool)"
    assert TypeHelper.get_output_type(session, "s") == "tensor(string)"
    onnx_types = {"x": 10, "b": 9, "k": 7, "y": 10, "c": 9, "s": 8}
    assert TypeHelper.get_io_onnx_type_map(session) == onnx_types
    with pytest.raises(ValueError, match="no input 'y'"):
        TypeHelper.get_input_type(session, "y")


def test_types_of_numpy() -> None:
    """The pairs of onnxruntime's own table; the others have none there."""
    types = {
        "float": np.float32,
        "float16": np.float16,
        "double": np.float64,
        "bool": bool,
        "int8": np.int8,
        "uint16": np.uint16,
        "int64": np.int64,
        "complex64": np.complex64,
    }
    for name, expected in types.items():
        assert TypeHelper.ort_type_to_numpy_type(f"tensor({name})") is expected
    for name in ("tensor(string)", "tensor(bfloat16)", "seq(tensor(float))", "float"):
        with pytest.raises(ValueError, match="type"):
            TypeHelper.ort_type_to_numpy_type(name)


def test_types_of_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    """`make test-clients` has torch; here is what the helper asks of it."""

    class Type(str):
        def __str__(self) -> str:
            return f"torch.{super().__str__()}"

    torch = ModuleType("torch")
    names = ("float32", "bfloat16", "bool", "float8_e4m3fn")
    vars(torch).update(dtype=Type, object=object, **{name: Type(name) for name in names})
    monkeypatch.setitem(sys.modules, "torch", torch)
    for ort_type, name in zip(("float", "bfloat16", "bool", "float8e4m3fn"), names, strict=True):
        assert TypeHelper.ort_type_to_torch_type(f"tensor({ort_type})") is vars(torch)[name]
    assert TypeHelper.torch_type_to_numpy_type(vars(torch)["bool"]) is bool
    assert TypeHelper.numpy_type_to_torch_type(np.float32) is vars(torch)["float32"]
    with pytest.raises(ValueError, match=r"torch has no type for tensor\(string\)"):
        TypeHelper.ort_type_to_torch_type("tensor(string)")
    monkeypatch.delitem(sys.modules, "torch")
    with pytest.raises(ValueError, match="import it first"):
        TypeHelper.ort_type_to_torch_type("tensor(float)")


@pytest.mark.parametrize(
    ("module", "cure"),
    [
        ("quantization", "a process that has not called sardonyx.compat.install()"),
        ("quantization.calibrate", "a process that has not called sardonyx.compat.install()"),
        ("tools.symbolic_shape_infer", "sardonyx.infer"),
        ("transformers.optimizer", "sardonyx.optimize"),
        ("backend", "sardonyx.backend"),
    ],
)
def test_imports_of_what_is_not_here_say_what_to_do(module: str, cure: str) -> None:
    code = f"try:\n    import onnxruntime.{module}\nexcept ModuleNotFoundError as error:\n    print(error)"
    assert cure in run_installed(code)


def test_training_is_not_found() -> None:
    """Packages ask so whether it is there, and need None instead of an error."""
    code = "import importlib.util\nprint(importlib.util.find_spec('onnxruntime.training'))"
    assert run_installed(code) == "None"


def test_names_that_are_not_here_say_what_to_do() -> None:
    native = ours.capi._pybind_state
    for module, name, cure in (
        (ours, "get_ep_devices", "sessions run on the processor"),
        (ours, "LoraAdapter", "sardonyx merge-adapters"),
        (native, "quantize_matmul_4bits", "a process that has not called"),
    ):
        assert not hasattr(module, name)  # programs ask so
        with pytest.raises(AttributeError, match=cure):
            getattr(module, name)
    with pytest.raises(AttributeError, match=r"has no attribute 'nothing'$"):
        _ = ours.nothing


@MODULES
def test_constants_of_the_package(ort: ModuleType) -> None:
    assert (ort.package_name, ort.cuda_version) == ("onnxruntime", "")
