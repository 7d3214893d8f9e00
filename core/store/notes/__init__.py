"""What people write into a store: the titles they give and the views they save, as text files."""
