print(task.goal)
