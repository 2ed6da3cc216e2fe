"""Six rules on one valley, and what each of them regrets."""
