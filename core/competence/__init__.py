"""Competence: how well models do what they are for, measured on events that they were not trained
on.
"""
