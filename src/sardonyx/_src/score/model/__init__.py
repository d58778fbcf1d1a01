"""The model of a job: the columns that feed its inputs, and runs of its session on batches of rows."""
