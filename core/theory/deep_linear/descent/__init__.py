"""How deep linear networks are trained: on the entropic loss, by gradient flow, by SGD."""
