"""What each chapter draws, a file a chapter: plain functions beside the notebook that shows them."""
