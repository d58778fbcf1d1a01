"""A service: a model repository and its transports (HTTP, gRPC), in one process or in several."""
