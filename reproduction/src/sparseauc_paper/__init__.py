"""The paper's experiments: protocols, tasks of work, a store of results, tables and figures.

Read ``protocols`` first, then ``synthetic`` and ``real`` for what is measured,
``tasks``, ``store`` and ``runner`` for how it is run, ``summaries`` and ``audit`` for
what is made of it.
"""
