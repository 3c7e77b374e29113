"""How weights, assets, constants and pictures were made, and how far published data is met.

Studies are no part of the product: they import it, it imports none of them, and the wheel has none.
"""
