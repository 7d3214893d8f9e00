"""What can be read of the Cave's factors and nuisances before and after adapters."""
