"""What a checkpoint says of a run: which queries, how many buckets, and who holds it now."""
