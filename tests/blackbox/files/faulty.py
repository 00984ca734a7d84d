import os

agent.fly()
agent.open()
