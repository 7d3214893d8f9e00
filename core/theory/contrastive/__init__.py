"""Contrastive learners in an idealized world (Huh et al. 2024, section 4 and appendix F): what they
learn is the PMI kernel.

world.py       events in a sequence, and how often two of them share a window pmi.py         the PMI
kernel, the offset that makes it an inner product, and proposition 1 learners.py    embeddings
trained by binary NCE and InfoNCE, on exact expectations and on sampled pairs modalities.py
observations of the same events, what they leave to know, and how alike two learned spaces are
capacity.py    the best that a width can do setups.py      what one run chooses, and presets of it
runs.py        what the page and the command show, as tables
"""
