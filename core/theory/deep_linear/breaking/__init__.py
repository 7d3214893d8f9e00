"""Ways to break the theorem: each changes how both networks are trained, what they learn, or from
which data.
"""
