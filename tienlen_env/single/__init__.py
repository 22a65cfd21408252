"""One game at a time, for people and bots."""
