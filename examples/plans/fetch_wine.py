while task.params["wine"] not in agent.walk("east"):
    pass
agent.take(task.params["wine"])
while agent.room:
    agent.walk("west")
