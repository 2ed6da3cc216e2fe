"""The window in which momentum treats all curvatures alike."""
