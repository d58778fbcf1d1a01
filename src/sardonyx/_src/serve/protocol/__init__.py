"""Parts of the Open Inference Protocol that all transports share: requests and responses, tensors, failures, counts of bytes."""
