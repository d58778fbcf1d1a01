"""Language models of a service: texts from decoders, and vectors from encoders, whose runs a queue admits."""
