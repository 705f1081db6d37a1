"""The data source that reads files for a pipeline: its steps, and the log of what each one took."""
