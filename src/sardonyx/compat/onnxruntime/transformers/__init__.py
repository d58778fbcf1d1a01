"""The part of onnxruntime's tools for transformers that programs need beside a session."""

from . import io_binding_helper as io_binding_helper
