"""Jobs: a table through a model into results, on threads or a cluster."""
