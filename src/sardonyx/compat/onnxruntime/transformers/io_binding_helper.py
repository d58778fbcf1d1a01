"""Types of tensors for bindings, where onnxruntime defines them."""

from sardonyx._src.compat.onnxruntime.type_helper import TypeHelper as TypeHelper
