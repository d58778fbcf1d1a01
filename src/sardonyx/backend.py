"""The backend interface of ONNX: `prepare`, `run_model`, `run_node`, as `onnx.backend.base.Backend` names them.

Suites and tools that run implementations through this interface take the module or the class `Backend`.  `prepare`
takes the options of `sx.Session`, such as `engine="native"` or `engine="reference"`.
"""

from sardonyx._src.runtime.backend.backend import Backend as Backend
from sardonyx._src.runtime.backend.backend import BackendRep as BackendRep
from sardonyx._src.runtime.backend.outputs import Outputs as Outputs

is_compatible = Backend.is_compatible
prepare = Backend.prepare
run_model = Backend.run_model
run_node = Backend.run_node
supports_device = Backend.supports_device

__all__ = [
    "Backend",
    "BackendRep",
    "Outputs",
    "is_compatible",
    "prepare",
    "run_model",
    "run_node",
    "supports_device",
]
