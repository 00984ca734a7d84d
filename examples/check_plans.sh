#!/bin/sh
# Check plans in CI: `check_plans.sh ENVIRONMENT PLAN.py ...` lists every fault of every plan, and fails if there is one.
# In a workflow:    - run: examples/check_plans.sh examples/cellar.py examples/plans/fetch_wine.py
set -u
env=$1
shift
code=0
for plan in "$@"; do
    planbook check "$plan" --env "$env" || code=1
done
exit $code
