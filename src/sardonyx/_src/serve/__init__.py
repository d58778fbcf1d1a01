"""Serving: model repositories that speak the Open Inference Protocol v2.

A request of any transport is an `InferenceRequest` (`requests.py`); the repository (`repository.py`) finds its `ServedModel`, whose
`Executor` (`executor.py`) runs the session.  Whatever is refused is a `RequestFailure` (`failures.py`), whose kind each transport maps to
its own codes.  All of it runs on one event loop; sessions are opened and long runs executed in threads.
"""
