"""How far a trained network gets, predicted and recorded."""
