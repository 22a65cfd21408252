"""Every measured figure of README and docs: its command, its result, and its place on a page."""
