"""The explorable of the landing page: four learners on one landscape, and 26 starts that a discount rate divides."""
