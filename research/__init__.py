"""How the agents that are shipped were made and measured; not in the wheel."""
