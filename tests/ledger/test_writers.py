"""Real processes on one ledger: together, one after a killed one, and readers beside them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from caveat.ledger import Ledger
from tests.builders import published_run

REPOSITORY = Path(__file__).parent.parent.parent

PROLOGUE = """
import os, signal, sys
import msgspec
from pathlib import Path
from caveat.figures import Provenance, Row, Source
from caveat.ledger import Ledger
from tests.builders import published_run
ledger = Ledger(Path(sys.argv[1]), shipped=False)
name = sys.argv[2]
def told_by(kind, sha256, *rows):
    run = published_run(platform="shared", rows=rows)
    sources = (Source(kind=kind, path=kind, sha256=sha256),)
    return msgspec.structs.replace(run, provenance=Provenance(origin="imported", sources=sources))
def own(count):
    return [published_run(platform=f"{name}-{number}") for number in range(count)]
print("ready", flush=True)
sys.stdin.readline()
"""


def start(path, name, body):
    """A process that waits for a line before it runs the body."""
    process = subprocess.Popen(
        [sys.executable, "-c", PROLOGUE + body, str(path), name],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=REPOSITORY,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def go(*processes):
    for process in processes:
        process.stdin.write("\n")
        process.stdin.flush()


def platforms(ledger):
    return {run.conditions.get("platform") for run in ledger.runs()}


def test_two_writers_of_the_same_and_of_different_runs(tmp_path):
    """All runs are there once; of the one that both told, nothing is lost and nothing forks."""
    body = """
kinds = {"a": ("log-summary", "aa", Row(metric="loadgen-ttft.p99", value=1.0)),
         "b": ("published-summary", "bb", Row(metric="loadgen-tpot.p99", value=0.1))}
for number, run in enumerate(own(8)):
    ledger.add([run, published_run(platform=f"common-{number}"), told_by(*kinds[name])])
"""
    writers = [start(tmp_path, name, body) for name in "ab"]
    go(*writers)
    assert [writer.wait() for writer in writers] == [0, 0]
    ledger = Ledger(tmp_path, shipped=False)
    expected = {f"{name}-{number}" for name in ("a", "b", "common") for number in range(8)}
    assert platforms(ledger) == {"shared", *expected}
    assert len(ledger.runs()) == 25
    (shared,) = (run for run in ledger.runs() if run.conditions.get("platform") == "shared")
    assert {"loadgen-ttft.p99", "loadgen-tpot.p99"} <= {row.metric for row in shared.rows}
    assert len(ledger.history(shared.subject)) == 2
    assert ledger.verify() == ()
    for writer in writers:
        writer.communicate()


@pytest.mark.parametrize(
    ("death", "written"),
    [
        ("ledger.add(own(90), progress=lambda done, of: done == 30 and os.kill(os.getpid(), signal.SIGKILL))", 30),
        (
            """
from caveat.ledger import store
def killed(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)
ledger.add(own(30))
store.os.replace = killed
ledger.add(own(90))
""",
            30,
        ),
        (
            """
from caveat.ledger import refresh
def killed(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)
ledger.add(own(20))
refresh.write_manifest = killed
ledger.add(own(30))
""",
            30,
        ),
        (
            """
from caveat.ledger import manifest, store
real = manifest.write_file
def half(folder, name, content):
    manifest.write_file = killed
    store.os.replace = killed
    return real(folder, name, content)
def killed(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)
manifest.write_file = half
ledger.add(own(30))
""",
            30,
        ),
    ],
    ids=["between documents", "before a rename", "between part and manifest", "in the middle of a part"],
)
def test_a_killed_writer_leaves_a_readable_ledger(tmp_path, death, written):
    """What was written is whole, what was not is absent, and the next writer finishes the work."""
    writer = start(tmp_path, "a", death)
    go(writer)
    assert writer.wait() == -9
    writer.communicate()
    ledger = Ledger(tmp_path, shipped=False)
    assert len(ledger.runs()) == written
    assert ledger.verify() == ()
    added = ledger.add([published_run(platform=f"a-{number}") for number in range(90)])
    assert (len(added.added), len(added.known)) == (90 - written, written)
    assert ledger.verify() == ()
    assert not list((tmp_path / ".index").glob(".tmp-*"))


def test_a_reader_beside_a_writer_never_sees_less_than_before(tmp_path):
    """Each answer is a whole one, from documents or from an index that just changed."""
    writer = start(tmp_path, "a", "for run in own(15):\n    ledger.add([run])\n    print(run.id, flush=True)\n")
    go(writer)
    reader, seen = Ledger(tmp_path, shipped=False), 0
    for written, _ in enumerate(writer.stdout, start=1):
        now = len(reader.figures())
        assert max(seen, written) <= now <= 15
        seen = now
    assert writer.wait() == 0
    writer.communicate()
    assert len(Ledger(tmp_path, shipped=False).figures()) == 15
