"""The shapes of --json that programs may rely on, as JSON Schemas: more keys are welcome, fewer are not."""

import jsonschema
import pytest

from tests.cli.acme import OFFLINE, RIVAL, SERVER
from tests.importers.loadgen_files import write_result

Schema = dict[str, object]

TEXT: Schema = {"type": "string"}
NUMBER: Schema = {"type": "number"}
COUNT: Schema = {"type": "integer", "minimum": 0}
ID: Schema = {"type": "string", "pattern": r"^[0-9a-f]{40}(\.[a-z0-9.-]+)?$"}


def record(**keys: object) -> Schema:
    return {"type": "object", "required": list(keys), "properties": keys}


def listed(item: object) -> Schema:
    return {"type": "array", "items": item}


def either(*schemas: object) -> Schema:
    return {"anyOf": list(schemas)}


NULL: Schema = {"type": "null"}
SIDE = record(id=ID, value=NUMBER)
FIGURE = record(
    format={"const": "caveat-figure/1"},
    id=ID,
    subject=TEXT,
    value=NUMBER,
    unit=TEXT,
    metric=record(key=TEXT, name=TEXT, definition=TEXT, statistic=TEXT, window=TEXT, token_source=TEXT),
    conditions={"type": "object", "minProperties": 1},
    undisclosed=listed(TEXT),
    not_applicable=listed(TEXT),
    validity=record(outcome=TEXT, entries=listed(record(aspect=TEXT, outcome=TEXT))),
    provenance=record(origin=TEXT),
    derived={"type": "boolean"},
    caveats=listed(record(id=TEXT, sentence=TEXT)),
)
VERDICT = record(
    left=ID,
    right=ID,
    verdict={"enum": ["comparable", "comparable-with-caveats", "not-comparable", "unknown"]},
    ratio=either(NUMBER, NULL),
    findings=listed(record(rule=TEXT, severity=TEXT, message=TEXT, left=TEXT, right=TEXT)),
    figures=listed(record(id=ID, value=NUMBER, conditions={"type": "object", "minProperties": 1})),
)
PAIR = record(
    submitter=TEXT,
    system=TEXT,
    model=TEXT,
    round=TEXT,
    division=TEXT,
    accelerator=either(TEXT, NULL),
    accelerators=either(COUNT, NULL),
    ratio=NUMBER,
    headroom=either(record(ttft=either(NUMBER, NULL), tpot=either(NUMBER, NULL)), NULL),
    flags=listed(TEXT),
    **{"from": SIDE, "to": SIDE},
)
DISCOUNT = record(
    format={"const": "caveat-discount/1"},
    derived={"const": True},
    basis=TEXT,
    pairs=listed(PAIR),
    summary=record(n=COUNT, median=NUMBER, min=NUMBER, max=NUMBER, inverted=COUNT),
    excluded=listed(record(reason=TEXT, count=COUNT)),
)
QUESTION = record(topic=TEXT, question=TEXT, why=TEXT)


@pytest.mark.parametrize(
    ("argv", "schema"),
    [
        (
            ("figures", "-w", "submitter=Acme"),
            record(format={"const": "caveat-figures/1"}, figures={**listed(FIGURE), "minItems": 5}),
        ),
        (("show", SERVER), {"allOf": [FIGURE, record(partners=listed(FIGURE), history=listed(record(id=ID)))]}),
        (("compare", SERVER, RIVAL), {"allOf": [VERDICT, record(format={"const": "caveat-verdict/1"})]}),
        (
            ("compare", SERVER, RIVAL, OFFLINE),
            record(format={"const": "caveat-verdict/1"}, pairs={**listed(VERDICT), "minItems": 3}),
        ),
        (("discount", "-w", "submitter=Acme"), DISCOUNT),
        (("discount", "-w", "round=v6.1"), DISCOUNT),
        (
            ("discount", "--estimate", "-w", "benchmark=llama2-70b-99.9", "-w", "accelerators=8"),
            record(format=TEXT, derived={"const": True}, low=NUMBER, high=NUMBER, assumptions=listed(TEXT)),
        ),
        (("explain",), record(format=TEXT, caveats=listed(record(id=TEXT, title=TEXT)))),
        (("explain", SERVER), record(format=TEXT, figure=ID, caveats=listed(record(id=TEXT, sentence=TEXT)))),
        (
            ("explain", "shape-slack"),
            record(format=TEXT, id=TEXT, title=TEXT, sections=listed(record(heading=TEXT, text=TEXT))),
        ),
        (
            ("ask", SERVER),
            record(format={"const": "caveat-questions/1"}, about=TEXT, ask=listed(QUESTION), answered=listed(QUESTION)),
        ),
        (
            ("ask", "--value", "1 tokens/s"),
            record(format=TEXT, ask=listed(QUESTION), candidates=listed(TEXT)),
        ),
        (
            ("cite", SERVER),
            record(format={"const": "caveat-citation/1"}, figure=ID, text=TEXT, footnote=TEXT, missing=listed(TEXT)),
        ),
        (("export", "-w", "submitter=Acme"), record(format={"const": "caveat-export/1"}, figures=listed(FIGURE))),
        (
            ("verify", SERVER),
            record(format=TEXT, results=listed(record(subject=TEXT, schedule=TEXT, detail=TEXT))),
        ),
        (
            ("ledger",),
            record(format=TEXT, path=TEXT, documents=record(own=COUNT, shipped=COUNT), problems=listed(TEXT)),
        ),
        (("compare", SERVER), record(error=record(code=TEXT, message=TEXT, next=TEXT))),
    ],
    ids=lambda part: " ".join(part)[:40] if isinstance(part, tuple) else "",
)
def test_every_verb_keeps_its_shape(caveat, acme, argv, schema):
    """Keys, kinds and the verdicts' words."""
    jsonschema.validate(caveat(*argv, "--json").json, schema)


def test_import_keeps_its_shape(caveat, tmp_path):
    """Also for a problem."""
    write_result(tmp_path / "tree")
    (tmp_path / "bad.json").write_text("[{")
    shape = record(
        format={"const": "caveat-import/1"},
        added={**listed(ID), "minItems": 1},
        known=listed(ID),
        problems={
            **listed(record(code=TEXT, path=TEXT, line=either(COUNT, NULL), message=TEXT)),
            "minItems": 1,
        },
    )
    jsonschema.validate(caveat("import", tmp_path / "tree", tmp_path / "bad.json", "--json").json, shape)
