"""A user's functions of θ: called on whole batches where they can be, differenced, and counted against a budget."""
