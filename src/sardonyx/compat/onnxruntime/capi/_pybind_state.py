"""The native module under the name by which onnxruntime's own Python code imports it."""

from .onnxruntime_pybind11_state import *  # noqa: F403
from .onnxruntime_pybind11_state import __getattr__ as __getattr__
