"""Serving: model repositories that speak the Open Inference Protocol v2.

A request of any transport is an `InferenceRequest` (`protocol/requests.py`).  The repository (`models/repository.py`) finds its
`ServedModel`, and the `Executor` of that model (`models/executor.py`) runs the session.  A refused request raises
`RequestFailure` (`protocol/failures.py`), and each transport maps the kind of the failure to its own codes.  All of this runs on
one event loop; threads open sessions and execute long runs.

Each folder imports only from those before it: protocol, batching, models, settings, rest, operation, grpc, service.
"""
