"""What decay leaves of each direction."""
