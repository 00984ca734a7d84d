"""Prompt graphs (AgentKit): each node asks a model one question, and may show it the answers of other nodes.

A graph is a YAML file. A pass is one run through the graph. In a pass, each node is asked at most once, after the nodes
that it waits for have answered. Nodes store values in a database, which the next pass can read. The page docs/graphs.md
describes the format.

To run a graph from code, import `Graph`, `GraphNode`, `GraphDatabase` and `run_pass` from `planbook.planner`.
"""
