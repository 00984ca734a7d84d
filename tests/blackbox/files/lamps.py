from planbook.envs import Environment, Observation, Selection, Task, Verdict, action


class Lights(Environment):
    """Three lamps; the task names the one that must be the only one lit."""

    name, types, splits = "lights", ("only_one",), ("all",)

    @classmethod
    def tasks(cls, selection: Selection, options=None):
        same = {"env": "lights", "split": "all", "type": "only_one"}
        goals = {n: f"light lamp {n} and no other" for n in (1, 2, 3)}
        return [Task(id=f"only_one/{n}", goal=goals[n], params={"lamp": n}, **same) for n in goals]

    def begin(self, task: Task) -> Observation:
        self.lit = {1, 2, 3} - {task.params["lamp"]}
        return Observation(f"Lit: {sorted(self.lit)}. Your task is to: {task.goal}.")

    @action("agent.press(2) -> 'Lit: [1, 2].'")
    def press(self, lamp: int) -> Observation:
        """Turn a lamp on or off."""
        self.lit ^= {lamp}
        return Observation(f"Lit: {sorted(self.lit)}.", terminated=self.verdict().solved)

    def verdict(self) -> Verdict:
        solved = self.lit == {self.task.params["lamp"]}
        return Verdict(solved, float(solved))
