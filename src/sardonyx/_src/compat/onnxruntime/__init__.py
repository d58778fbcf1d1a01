"""The Python interface of onnxruntime: its classes and functions, executed by `sardonyx.Session`."""
