"""Questions put to one dataset of the store: each joins store, metrics and analyses, and keeps its table with its recipe."""
