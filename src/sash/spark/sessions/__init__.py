"""A Spark session that fits the machine: Java, memory, and settings."""
