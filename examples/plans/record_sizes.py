for name in agent.list_files():
    if task.params["part"] in agent.read_file(name):
        agent.record(name)
agent.answer(agent.sizes())
