"""The explorable of the book's title: switches of assumptions, and the optimizer that follows."""
