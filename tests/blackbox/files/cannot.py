agent.open("box_1")
agent.open("box_99")
