"""Queries and keys of language models, which are two neighboring layers of a linear network: the
balance of their gradients that the theory of deep linear networks predicts (Ziyin and Chuang 2025,
footnote 15).

    matrices       the query and key matrices of each head, or their gradients
    balance        both sides of the balance, chance and fresh weights beside them
    runs, question, answer, findings, figures  as of every question
"""
