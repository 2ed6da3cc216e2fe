"""What a path seems to be optimal for, asked in two ways."""
