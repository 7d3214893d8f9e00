"""What makes a stimulus dispersed: predictors of its dispersion, and words of its captions."""
