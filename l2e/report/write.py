"""A report: figures, tables in three formats, the sources of every cell, and one page with all of it."""

import json
from pathlib import Path

from l2e.report.collection import Results
from l2e.report.figures import draw_all
from l2e.report.page import write_overview_page, write_page
from l2e.report.policy_figures import draw_policies
from l2e.report.standard_tables import all_tables, overview
from l2e.report.tables import Table, comma_separated, latex, markdown, write_open
from l2e.report.uav_figures import draw_uav

FORMATS = {".md": markdown, ".tex": latex, ".csv": comma_separated}


def write_reports(contests: list[Results], out: Path, with_published: bool = True, figures: bool = True) -> list[Path]:
    """Write the report of one contest below `out`, or of several in folders of their names, with an overview page.

    **Returns:** the files to look at first.
    """
    if len(contests) == 1:
        return write_report(contests[0], out, with_published, figures)
    for results in contests:
        write_report(results, out / results.name, with_published, figures)
    table = overview(contests)
    write_tables([table], [run.key for results in contests for run in results.runs], out / "tables")
    write_overview_page(contests, table, out / "index.html")
    return [out / "index.html", *(out / results.name / "index.html" for results in contests)]


def write_report(results: Results, out: Path, with_published: bool = True, figures: bool = True) -> list[Path]:
    """Write everything about one contest below `out`; returns the files to look at first."""
    tables = all_tables(results, with_published)
    by_method = sorted(results.runs, key=lambda run: results.methods.index(run.method))  # so that ranges are few
    write_tables(tables, [run.key for run in by_method], out / "tables")
    if figures:
        draw_all(results, out / "figures")
        draw_uav(results, out / "figures")
        draw_policies(results, out / "figures")
    write_page(results, tables, out / "index.html")
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
