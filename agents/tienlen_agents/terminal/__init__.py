"""Playing in a terminal: the table, the words of each game, the prompt, the person as an agent."""
