for number in agent.numbers():
    if "old" in agent.read(number)["text"]:
        agent.remove(number)
agent.answer()
