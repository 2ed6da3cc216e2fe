"""The explorable of the chapter *Parameter-space geometry*: a metric drawn as its ellipse, and the steps it turns."""
