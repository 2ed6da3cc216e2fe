"""The optimal preconditioner over curvature."""
