"""Which evidence supports a claim: documents, the simulator, or one item of them.

``game``, ``intervention`` and ``sources`` are pure arithmetic over chances; ``attribute`` asks a
model for the chances of a question's claims, and ``counterfactual`` runs the simulator again.
"""
