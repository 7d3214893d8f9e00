"""Files that a person names or uploads: read within limits, and trusted in nothing they say."""
