"""Shared by the Builder and the Consolidator: their settings, and edits read from a reply."""

from dataclasses import dataclass, field

from pydantic import BaseModel

from planbook.envs import Environment
from planbook.planner import Message, action_docs
from planbook.rules.book import RuleBook
from planbook.rules.cases import Case, Form, Permissions
from planbook.rules.edits import Author, RuleChange
from planbook.rules.system import Edited, RuleSystem, Trajectories, Verify, run_edits
from planbook.rules.telling import PROMPTS
from planbook.rules.types import MEANINGS
from planbook.sandbox import Sandbox, read_reply


@dataclass(frozen=True)
class BuilderSettings:
    """How rules are managed: the environment, the number and form of rules, and what is left out.

    ``cooperation`` shows the agent's thoughts; ``cases`` and ``classification`` condition the Builder's prompts.
    """

    world: type[Environment]
    options: BaseModel
    max_rules: int = 12
    form: Form = field(default_factory=Form)
    cooperation: bool = True
    cases: bool = True
    classification: bool = True
    verify: Verify | None = None
    """Says what is wrong with the check of a rule, if rules may have checks."""

    def system_message(self, name: str) -> Message:
        """Return a role's system message by the name of its template."""
        text = PROMPTS[name].render(
            about=self.world.about,
            action_docs=action_docs(self.world, self.options),
            form=self.form,
            types=[(kind.value, meaning) for kind, meaning in MEANINGS.items() if kind in self.form.offered],
            max_rules=self.max_rules,
        )
        return Message(role="system", content=text)


@dataclass
class Editor:
    """Runs the edits of replies on a rule book, each reply on the same one.

    ``sound`` is what stands of the last reply.
    """

    sandbox: Sandbox
    book: RuleBook
    permissions: Permissions
    who: Author
    where: str
    case: Case | None = None
    trajectories: Trajectories | None = None
    verify: Verify | None = None
    sound: RuleChange | None = None

    def read(self, reply: str) -> Edited:
        """Run the edits of a reply. Raises ValueError with the message for the model."""
        code = read_reply(reply)
        if code.problem is not None:
            raise ValueError(str(code.problem))
        system = RuleSystem(
            self.book,
            self.permissions,
            self.trajectories,
            who=self.who,
            where=self.where,
            case=self.case,
            verify=self.verify,
        )
        edited = run_edits(self.sandbox, system, code.code)
        if edited.change is None:
            self.sound = system.sound_part()
            raise ValueError(edited.message)
        return edited
