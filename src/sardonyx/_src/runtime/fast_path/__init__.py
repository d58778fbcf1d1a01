"""The fast path: runs with the element types and sizes of an earlier run, without repeated checks."""
