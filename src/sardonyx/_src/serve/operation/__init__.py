"""Operation of a service: metrics for Prometheus, and traces for OpenTelemetry."""
