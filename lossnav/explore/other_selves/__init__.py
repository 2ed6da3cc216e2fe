"""Three planners whose discount changes as time passes."""
