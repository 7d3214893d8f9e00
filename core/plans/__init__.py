"""Plans: what a published study did, or a person's own will do, as data in one TOML file.

A plan says which dataset, models, measurements and figures a study has; a study (`core.study`) is
what comes of it, one dataset's models in the store.
"""
