"""What a person can ask: a folder per question, with its answer, figures and findings."""
