"""The one place that talks to the Hugging Face hub, by its own library; errors are sentences."""
