"""The rooms: other systems beside the method, each whole in one folder.

A room stands above the pipeline and knows no other room. What it may bring says ``flows.hooks``.
"""
