"""Programs as agents: programs in any language that use the line protocol (PROTOCOL.md)."""
