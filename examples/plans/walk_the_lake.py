DOWN, RIGHT = 1, 2
for step in (DOWN, DOWN, RIGHT, DOWN, RIGHT, RIGHT):
    print(agent.step(step))
