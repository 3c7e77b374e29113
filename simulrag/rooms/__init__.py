"""The rooms: see ``simulrag.registry``. A room may import the core and no other room.

What is looked for in a room, by the name of the module:

settings
    ``SECTION``: its section of params.yaml, a ``RoomSection`` whose fields all have defaults.
stages
    A folder; each module is a stage by its ``STAGE``, whose name is the module's.
page
    ``SECTION`` of the report, ``READS`` (what of data/ it rests on) and ``read``, whose result the
    section finds as ``run.rooms[SECTION.key]``; the key is the room's name.
commands
    ``register(app)``, and what it does for ``simulrag ask``: ``why``, ``choose_domain``.
lineage
    ``MAKES`` and ``write``: what the stage ``simulators`` notes of files outside of the project.
"""
