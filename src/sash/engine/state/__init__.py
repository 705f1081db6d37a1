"""What operators keep between steps: key tables, rows in segments, calendars of ends."""
