"""What a question leaves to a person: options, declared once, and the ranges of their numbers."""
