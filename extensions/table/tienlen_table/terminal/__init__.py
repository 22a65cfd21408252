"""Playing in a terminal: the table, the texts of each game, the prompt, and a person as an agent."""
