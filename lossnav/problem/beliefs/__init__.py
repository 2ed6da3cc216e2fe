"""What a learner believes about the loss around it (Sec. 5, App. H): an Objective and a Loss, and what follows at once.

``lossnav.belief`` has the public names, and the optimal plans.
"""
