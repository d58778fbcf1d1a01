"""Services of several processes: a supervisor, which owns the listening sockets, and workers, which serve."""
