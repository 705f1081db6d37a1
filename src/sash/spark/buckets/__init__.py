"""What runs on executors: packs of rows, the buckets that take them in, and the processes that keep them."""
