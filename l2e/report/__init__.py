"""Pictures and pages; reads records of runs, and is the only layer that knows an optimum."""
