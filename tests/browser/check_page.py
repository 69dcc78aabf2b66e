"""Open a contest report in a real browser: charts show, tables sort and filter, sources open, nothing is logged.

    make browser-test        or: python tests/browser/check_page.py [a report's index.html]

A command of its own, since not every machine that runs the tests has a browser.
"""

import base64
import sys
import tempfile
from pathlib import Path

from chromium import Page

sys.path.insert(0, str(Path(__file__).parent.parent))


def made_report(folder: Path) -> Path:
    """A small report of made-up records."""
    from helpers.made_records import contest

    from l2e.bench.store import Store
    from l2e.report.collection import collect
    from l2e.report.write import write_report

    store = Store(folder / "store")
    store.open()
    store.append(contest())
    store.note_experiment(
        {"ablation": {"full": "good", "variants": {"without a part": "middle", "without all": "bad"}}}
    )
    write_report(collect(store), folder / "report", figures=False)
    return folder / "report" / "index.html"


def shown(page: Page, selector: str) -> int:
    """How many elements are visible."""
    return page.run(f"[...document.querySelectorAll({selector!r})].filter((e) => e.offsetParent !== null).length")


def texts(page: Page, selector: str) -> list[str]:
    return page.run(f"[...document.querySelectorAll({selector!r})].map((e) => e.textContent)")


def check_charts(page: Page) -> None:
    ranked = page.run("data.ranks !== null")  # three methods or more
    for name in ("ecdf", "radar", *(["ranks"] if ranked else []), "cpu"):
        assert page.run(f"document.querySelectorAll('#chart-{name} .main-svg').length") >= 1, name
    methods = page.run("data.methods.length")
    assert page.run("document.getElementById('chart-ecdf').data.length") == methods
    assert page.run("document.querySelectorAll('#chart-ecdf .lines path.js-line').length") == methods
    page.run("document.querySelector('.problem').open = true")
    page.run("new Promise((done) => setTimeout(done, 500))")
    assert page.run("document.querySelectorAll('.problem[open] .main-svg').length") >= 3


def check_sorting(page: Page) -> None:
    column = "#table-mean tbody td:nth-child(2)"
    values = f"[...document.querySelectorAll({column!r})].map((e) => Number(e.dataset.value))"
    page.run("document.querySelector('#table-mean thead th:nth-child(2) button').click()")
    assert page.run(values) == sorted(page.run(values))
    page.run("document.querySelector('#table-mean thead th:nth-child(2) button').click()")
    assert page.run(values) == sorted(page.run(values), reverse=True)
    page.run("document.querySelector('#table-mean thead th:nth-child(1) button').click()")
    labels = texts(page, "#table-mean tbody th")
    numbers = [int(label.split()[0][1:]) for label in labels]
    assert numbers == sorted(numbers)


def check_filters(page: Page) -> None:
    columns, rows = shown(page, "#table-mean thead th"), shown(page, "#table-mean tbody tr")
    method, group = page.run("data.methods[1].name"), page.run("data.groups[0]")
    chip = "document.querySelector('.chip[data-kind=%s][data-value=\"%s\"]').click()"
    page.run(chip % ("method", method))
    assert shown(page, "#table-mean thead th") == columns - 1
    assert method not in page.run("document.getElementById('chart-ecdf').data.map((t) => t.name)")
    page.run(chip % ("group", group))
    hidden = page.run("data.problems.filter((p) => p.group === data.groups[0]).length")
    assert shown(page, "#table-mean tbody tr") == rows - hidden
    assert shown(page, ".problem") == rows - hidden
    page.run(chip % ("method", method))
    page.run(chip % ("group", group))
    assert shown(page, "#table-mean thead th") == columns
    assert shown(page, "#table-mean tbody tr") == rows


def check_sources(page: Page) -> None:
    page.run("document.querySelector('#table-mean tbody td').click()")
    assert page.run("document.getElementById('sources').open")
    keys = page.run("document.querySelector('#sources pre').textContent").split()
    assert keys
    assert keys == page.run(
        "data.problems.find((p) => p.name === document.querySelector('#table-mean tbody th').textContent)"
        ".cells[data.methods[0].name].keys"
    )
    page.run("document.getElementById('sources').close()")


def check_ablation(page: Page) -> None:
    if not shown(page, "#table-ablation"):  # only in reports of experiments that name a complete method
        return
    row = "#table-ablation tbody tr"
    rows = shown(page, row)
    assert rows == len(texts(page, f"{row} th")) > 2
    page.run("document.querySelector('#table-ablation thead th:nth-child(3) button').click()")
    differences = "#table-ablation tbody td:nth-child(3)[data-value]"
    values = page.run(f"[...document.querySelectorAll({differences!r})].map((e) => Number(e.dataset.value))")
    assert values == sorted(values)
    page.run(f"document.querySelector('{row}[data-against] td:nth-child(3)').click()")
    keys = page.run("document.querySelector('#sources pre').textContent").split()
    title = page.run("document.querySelector('#sources h2').textContent")
    page.run("document.getElementById('sources').close()")
    assert keys
    assert " and " in title  # the records of both methods are behind a difference
    page.run("document.querySelector('.chip[data-kind=group]').click()")
    hidden = page.run(
        f"[...document.querySelectorAll('{row}')].filter((r) => r.dataset.group === data.groups[0]).length"
    )
    assert shown(page, row) == rows - hidden
    page.run("document.querySelector('.chip[data-kind=group]').click()")
    page.run("document.querySelector('#table-ablation thead th:nth-child(1) button').click()")


def check_phone(page: Page, url: str) -> None:
    page.call("Emulation.setDeviceMetricsOverride", width=390, height=844, deviceScaleFactor=2, mobile=True)
    page.open(url)
    page.run("new Promise((done) => setTimeout(done, 500))")
    assert page.run("window.innerWidth") == 390
    assert page.run("document.documentElement.scrollWidth") <= 390
    assert page.run("document.querySelector('#chart-ecdf .main-svg').getBoundingClientRect().right") <= 390


def check_hostile_names(page: Page, folder: Path) -> None:
    """No script of a stranger runs: names of methods and titles come from files that anybody may have written."""
    from helpers.made_records import contest

    from l2e.bench.store import Store
    from l2e.report.collection import collect
    from l2e.report.write import write_report

    attack = "<img src=x onerror='window.attacked = true'>"
    names = (
        f"@@DATA@@{attack}",
        f"</script>{attack}",
        f"\"'>{attack}",
        f"<script>window.attacked = true</script>{attack}",
    )
    store = Store(folder / "hostile")
    store.open()
    store.append(contest(names, functions=(1, 8)))
    store.note_experiment({"title": names[0], "methods": list(names)})
    write_report(collect(store), folder / "hostile-report", figures=False)
    page.open((folder / "hostile-report" / "index.html").resolve().as_uri())
    page.run("new Promise((done) => setTimeout(done, 500))")
    page.run("document.querySelector('#table-mean tbody td').click()")
    assert page.run("window.attacked === undefined")
    assert page.run("document.querySelectorAll('img').length") == 0
    assert page.run("data.methods.map((m) => m.name)") == list(names)


def picture(page: Page, path: Path) -> None:
    """Keep what the page looks like."""
    shot = page.call("Page.captureScreenshot", captureBeyondViewport=True)
    path.write_bytes(base64.b64decode(shot["data"]))


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(sys.argv[1]) if len(sys.argv) > 1 else made_report(Path(folder))
        url = path.resolve().as_uri()
        page = Page(url)
        try:
            page.call("Emulation.setDeviceMetricsOverride", width=1280, height=900, deviceScaleFactor=1, mobile=False)
            page.open(url)
            for check in (check_charts, check_sorting, check_filters, check_sources, check_ablation):
                check(page)
                print(f"ok: {check.__name__.removeprefix('check_')}")
            if len(sys.argv) > 2:
                picture(page, Path(sys.argv[2]).with_suffix(".laptop.png"))
            check_phone(page, url)
            print("ok: phone")
            if len(sys.argv) > 2:
                picture(page, Path(sys.argv[2]).with_suffix(".phone.png"))
            check_hostile_names(page, Path(folder))
            print("ok: hostile names")
            assert not page.errors, page.errors
            print("ok: no errors in the console")
        finally:
            page.close()


if __name__ == "__main__":
    main()
