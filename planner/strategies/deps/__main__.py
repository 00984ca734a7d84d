"""``python -m planbook.planner.strategies.deps TABLE.csv`` learns from recorded goals and writes the trees beside the
table.
"""

import sys
from pathlib import Path

from planbook.planner.strategies.deps.selectors import write_trees

if __name__ == "__main__":
    print(write_trees(Path(sys.argv[1])))
