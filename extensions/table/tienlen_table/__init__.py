"""The table: a page for people, its server, and the games and agents as WebAssembly."""
