"""One game at a time, for people and programs."""
