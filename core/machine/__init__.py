"""What this machine has for the work: cores, memory, and processes to spread it over."""
