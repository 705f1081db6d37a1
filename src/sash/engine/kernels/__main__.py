"""Compile every kernel and leave it in the cache: `python -m sash.engine.kernels`, part of set-up."""

from __future__ import annotations

import importlib
import pkgutil
import time

import sash.engine.kernels as family


def main() -> None:
    """Import each family once; importing compiles what is not cached yet."""
    start = time.perf_counter()
    names = [module.name for module in pkgutil.iter_modules(family.__path__) if module.name != "__main__"]
    for name in names:
        importlib.import_module(f"{family.__name__}.{name}")
    print(f"{len(names)} kernel families ready in {time.perf_counter() - start:.1f} s")


if __name__ == "__main__":
    main()
