"""The kinetic energy of two plans, followed back from where they rest."""
