"""The gRPC transport of the Open Inference Protocol v2: service `inference.GRPCInferenceService`.

Messages are dataclasses with field numbers (`messages.py`), encoded by `wire_encoder.py` and decoded by `wire_decoder.py`, so
that the package does not depend on protobuf.  Connections are handled in a process of their own (`process.py`).
"""
