"""The one place that talks to the Hugging Face hub: one time limit, one table of sentences."""
