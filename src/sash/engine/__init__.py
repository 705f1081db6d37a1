"""The circuit and its operators, their state and their kernels; it knows nothing of where it runs."""
