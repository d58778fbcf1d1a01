"""Jobs: they run a model on the rows of a source and write the results to a sink, on threads or a cluster."""
