"""What a finite step does to the cloud of SGD."""
