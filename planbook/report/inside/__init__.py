"""What happened inside an episode, as its readers follow it? The page and the terminal tell the same.

``scopes`` makes ``items`` of the events, scope in scope, cell after cell; ``places`` puts those of sub-tasks together
as a tree, ``searched`` what was tried in a round of a searching method, ``evaluated`` a pass of a prompt graph.
"""
