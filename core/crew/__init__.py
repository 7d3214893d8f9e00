"""Who does the work of a command: this process, or many machines through Ray."""
