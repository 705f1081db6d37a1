"""The in-process database: pushing, reordering, answers, metrics, save and load."""
