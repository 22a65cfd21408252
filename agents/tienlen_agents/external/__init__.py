"""Programs as players: bots in any language that speak JSON lines (PROTOCOL.md)."""
