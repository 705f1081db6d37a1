"""Text to bound statements: the dialect, windows, statements, names and types of expressions."""
