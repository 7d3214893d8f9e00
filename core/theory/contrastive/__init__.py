"""Contrastive learners in an idealized world (Huh et al. 2024, section 4 and appendix F): what they
learn is the PMI kernel.

    world          events in a sequence, and how often two of them share a window
    pmi            the PMI kernel, the offset that makes it an inner product, and proposition 1
    learners       embeddings by binary NCE and InfoNCE, on exact expectations and on sampled pairs
    views          observations of the events, what they leave to know, and how alike two spaces are
    capacity       the best that a width can do
    setups, runs   presets, and what the page and the command show, look by look
    question, answer, findings, figures  as of every question
"""
