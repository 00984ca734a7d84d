for direction in ("down", "down", "right", "down", "right", "right"):
    agent.walk(direction)
