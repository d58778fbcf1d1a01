"""What all transports exchange with models: requests and responses, tensors of the protocol, failures, and counts of bytes."""
