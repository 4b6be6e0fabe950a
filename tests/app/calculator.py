"""What ``export`` makes, run by node and by LibreOffice."""

import json
import re
import shutil
import subprocess

import openpyxl
import pytest

with_node = pytest.mark.skipif(shutil.which("node") is None, reason="no node")


with_office = pytest.mark.skipif(
    shutil.which("soffice") is None, reason="no LibreOffice"
)


def _script_of(page):
    """The page's own script up to what it shows."""
    content = re.search(
        r'<script type="application/json" id="model">(.*?)</script>', page, re.S
    )[1]
    script = re.findall(r"<script>(.*?)</script>", page, re.S)[-1].split("const short")[
        0
    ]
    script = script.replace(
        'JSON.parse(document.getElementById("model").textContent)', content
    )
    script = script.replace("const byId = (id) => document.getElementById(id);", "")
    return script


def _run(script):
    done = subprocess.run(
        ["node", "-"], input=script, capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def read_numbers(page, column, typed):
    """Numbers that the page reads in a field of a column, None where it reads none."""
    return _run(
        f"{_script_of(page)}; const one = MODEL.columns.find((x) => x.column === "
        f"{json.dumps(column)}); console.log(JSON.stringify({json.dumps(typed)}.map((text) => "
        "readNumber(text, false, one.decimal) ?? null)));"
    )


def page_results(page, rows, limited=()):
    """Score and risk of rows by the page's own script; ``limited`` columns are read as typed."""
    script = _script_of(page) + (
        f"const limited = {json.dumps([*limited])};"
        "const read = (row) => { for (const name of limited) "
        "row[name] = readNumber(row[name] ?? '', true); return row; };"
        f"console.log(JSON.stringify({json.dumps(rows)}.map((row) => "
        "{ const score = scoreOf(read(row)); "
        "return [score, score === null ? null : riskOf(score)]; })));"
    )
    return [list(one) for one in zip(*_run(script), strict=True)]


def computed(content, folder):
    """A workbook with all its formulas computed by LibreOffice."""
    (folder / "out").mkdir()
    (folder / "book.xlsx").write_bytes(content)
    profile = f"-env:UserInstallation=file://{folder}/profile"
    command = ["soffice", profile, "--headless", "--convert-to", "xlsx:Calc MS Excel 2007 XML",
               "--outdir", "out", "book.xlsx"]  # fmt: skip
    subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=300)
    return openpyxl.load_workbook(folder / "out" / "book.xlsx", data_only=True)
