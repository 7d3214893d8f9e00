"""Embedded deep linear networks (Ziyin and Chuang 2025, "the note"): trained with noise, all of
their layers become aligned.

world.py        inputs, labels with noise, and what surrounds a network: its frozen matrices and its
view network.py      the representations, the loss and the entropy of a network, by exact moments
closed_form.py  the minimum of the entropy among all global minima of the loss, and the minimum of
the weights' norm alignment.py    how alike two layers are, by exact moments sgd.py
stochastic gradient descent at a finite step descent.py      descent on the entropic loss, and
gradient flow sharpness.py    the largest eigenvalue of the loss's Hessian breakers.py     six ways
to break the theorem, each with a strength runs.py         what the page and the command show, as
tables
"""
