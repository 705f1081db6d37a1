"""What both databases know: streams, tables with their versions, views, clocks and frontiers."""
