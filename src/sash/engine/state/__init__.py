"""What operators keep between steps: key tables, rows used round, chains by key, calendars of ends."""
