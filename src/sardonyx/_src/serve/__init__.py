"""Serving: model repositories that speak the Open Inference Protocol v2.

A request of any transport is an `InferenceRequest` (`protocol/requests.py`); the repository (`models/repository.py`) finds its
`ServedModel`, whose `Executor` (`models/executor.py`) runs the session.  Whatever is refused is a `RequestFailure`
(`protocol/failures.py`), whose kind each transport maps to its own codes.  All of it runs on one event loop; sessions are opened and long
runs executed in threads.

Each folder imports only from those before it: protocol, batching, models, settings, rest, operation, grpc, service.
"""
