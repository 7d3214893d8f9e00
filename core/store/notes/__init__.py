"""What people write into a store: the titles that they give, as a text file."""
