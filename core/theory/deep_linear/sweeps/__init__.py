"""Many trainings side by side: over the size of the steps and time, and over what differs between
two networks.
"""
