"""The contest: an experiment becomes a plan, a plan becomes runs, each run a record in a store; reports read stores."""
