"""A service: repository and transports, in one process or in several."""
