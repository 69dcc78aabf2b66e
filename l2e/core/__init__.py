"""What everything else stands on: boxes, problems, the meter, searches, files. Needs numpy and scipy only."""
