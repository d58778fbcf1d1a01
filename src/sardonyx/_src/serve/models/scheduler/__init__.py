"""Scheduling of a model's requests: a bounded queue with priorities and deadlines, batches, and worker threads.

`scheduler.py` decides on the event loop what runs next; `batch_run.py` runs it in a thread.
"""
