"""From plans to a pipeline: where rows must meet, in which stages, and what is shared."""
