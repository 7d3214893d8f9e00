"""From a dataset and an encoder to an embedding in the store: batches, resumption, progress."""
