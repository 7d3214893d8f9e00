"""The third way to know an event: neither seen nor told, but heard."""
