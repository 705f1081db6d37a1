"""Figures and rates: one file each, run by `sash bench NAME` from a checkout."""
