"""The fast path: runs with the types and sizes of an earlier one."""
