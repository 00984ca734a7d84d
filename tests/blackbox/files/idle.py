print(agent.table())
