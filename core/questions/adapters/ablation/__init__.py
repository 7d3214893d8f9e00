"""One choice of how adapters are trained changed at a time, beside methods without training."""
