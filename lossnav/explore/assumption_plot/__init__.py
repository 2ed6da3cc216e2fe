"""What a learner assumed, read from the rates of its modes."""
