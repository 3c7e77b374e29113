"""How weights, assets, constants and pictures were made, how far published data is met, and what
the audit finds of errors and of claims that others judged.

Studies are no part of the product: they import it, it imports none of them, and the wheel has none.
"""
