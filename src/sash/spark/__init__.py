"""The same database on Spark: placement, packing, buckets, sources, sinks, recovery.

Spark scans, shuffles, schedules and restarts; Sash's circuits keep the windows. `sash.connect(spark)`
is the way in.
"""
