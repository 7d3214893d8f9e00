"""Embedded deep linear networks (Ziyin and Chuang 2025, "the note"): trained with noise, all of
their layers become aligned.

    world          inputs, labels with noise, and what surrounds a network: frozen matrices and view
    network, nets  representations, loss and entropy by exact moments; two networks before training
    closed_form    the least entropy among all global minima of the loss, and the least norm
    layer_cka      how alike two layers are, by exact moments
    descent/       training: on the entropic loss, by gradient flow, by SGD; the sharpness
    interventions, breakers  six ways to break the theorem, each with a strength
    presets, runs  what the page and the command show, look by look
    question, answer, findings, figures  as of every question
"""
