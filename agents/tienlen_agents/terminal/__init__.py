"""Playing in a terminal: the table, the dialogue, the person as an agent."""
