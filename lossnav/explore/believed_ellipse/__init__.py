"""Five beliefs about the second moment of gradients, and the step that each makes."""
