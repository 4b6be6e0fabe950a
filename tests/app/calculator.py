"""The calculator of ``export --to html``, run by node."""

import json
import re
import shutil
import subprocess

import pytest

with_node = pytest.mark.skipif(shutil.which("node") is None, reason="no node")


def page_results(page, rows, limited=()):
    """Score and risk of rows by the page's own script; ``limited`` columns are read as typed."""
    content = re.search(r'<script type="application/json" id="model">(.*?)</script>', page, re.S)[1]
    script = re.findall(r"<script>(.*?)</script>", page, re.S)[-1].split("const short")[0]
    script = script.replace('JSON.parse(document.getElementById("model").textContent)', content)
    script = script.replace("const byId = (id) => document.getElementById(id);", "")
    script += (
        f"const limited = {json.dumps([*limited])};"
        "const read = (row) => { for (const name of limited) "
        "row[name] = readNumber(row[name] ?? '', true); return row; };"
        f"console.log(JSON.stringify({json.dumps(rows)}.map((row) => "
        "{ const score = scoreOf(read(row)); "
        "return [score, score === null ? null : riskOf(score)]; })));"
    )
    done = subprocess.run(["node", "-"], input=script, capture_output=True, text=True, check=True)
    return [list(one) for one in zip(*json.loads(done.stdout), strict=True)]
