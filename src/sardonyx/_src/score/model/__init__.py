"""The model of a job: which columns feed it, and batches of rows through its session."""
