"""What several tests of runs begin with."""

from typing import Any

import pytest

from tests.executing import TASKS, command, told
from tests.flows import here


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Any, ...]]:
    """What happens on the mortal toy environment in threads of one process, where nobody is killed."""
    folder = tmp_path_factory.mktemp("undisturbed")
    assert here(*command(folder, *TASKS)).returncode == 0
    return told(folder)
