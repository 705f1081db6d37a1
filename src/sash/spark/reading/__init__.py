"""Files of rows as Arrow: which there are, what is in them, and what to do with what does not fit."""
