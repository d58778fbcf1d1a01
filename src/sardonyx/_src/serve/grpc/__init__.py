"""The gRPC transport of the Open Inference Protocol v2: service `inference.GRPCInferenceService`.

Messages are dataclasses with field numbers (`messages.py`), encoded by `wire_encoder.py`, so that nothing depends on protobuf.
"""
