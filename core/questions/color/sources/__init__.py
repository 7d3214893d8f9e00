"""Where dissimilarities of colors come from: eyes, pixels, captions, language models and files."""
