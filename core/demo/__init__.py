"""The demo: the Cave with every model that ships, and what the pages ask of it first."""
