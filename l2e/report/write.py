"""A report: figures, tables in three formats, the sources of every cell, and one page with all of it."""

import json
from pathlib import Path

from l2e.report.collection import Results
from l2e.report.contents import all_tables
from l2e.report.contest_figures import draw_all
from l2e.report.contest_page import write_contest_page
from l2e.report.tables import Table, comma_separated, latex, markdown, write_open

FORMATS = {".md": markdown, ".tex": latex, ".csv": comma_separated}


def write_report(results: Results, out: Path, with_published: bool = True, figures: bool = True) -> list[Path]:
    """Write everything below `out`; returns the files to look at first."""
    tables = all_tables(results, with_published)
    by_method = sorted(results.runs, key=lambda run: results.methods.index(run.method))  # so that ranges are few
    write_tables(tables, [run.key for run in by_method], out / "tables")
    if figures:
        draw_all(results, out / "figures")
    write_contest_page(results, tables, out / "index.html")
    return [out / "index.html", out / "tables", *([out / "figures"] if figures else [])]


def write_tables(tables: list[Table], keys: list[str], folder: Path) -> None:
    """Each table in each format, and `sources.json`: where every cell comes from.

    Its `keys` lists the records' keys, its `cells` gives for table, line and column the ranges of places (first and
    last, from 0) in that list.
    """
    for table in tables:
        for suffix, render in FORMATS.items():
            write_open(folder / f"{table.name}{suffix}", render(table))
    places = {key: place for place, key in enumerate(keys)}
    sources = {"keys": keys, "cells": {table.name: table.sources(places) for table in tables}}
    write_open(folder / "sources.json", json.dumps(sources, separators=(",", ":")) + "\n")
