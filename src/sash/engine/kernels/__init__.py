"""Numba kernels on NumPy arrays, one module per family, compiled once and cached on disk.

Each kernel is a plain function with an explicit signature, so that a fresh process loads machine
code instead of compiling; with NUMBA_DISABLE_JIT=1 the same functions run in the interpreter.
"""
