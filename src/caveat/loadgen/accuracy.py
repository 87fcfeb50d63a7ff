"""An accuracy run: every row of a data set once against the endpoint, and every answer kept.

accuracy.json   the order (accuracy_order.py)
samples.parquet, notes.json, .going   as in every experiment (folder.py)
answers.jsonl   what the server said (answer_file.py)

accuracy_record.py scores the answers and makes the Run, from the folder and the data set alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from caveat.loadgen.accuracy_order import ORDER, AccuracyOrder, EveryRow, check_before
from caveat.loadgen.answer_file import AnswerFile
from caveat.loadgen.client_calibration import machine
from caveat.loadgen.clock import WallClock
from caveat.loadgen.engine import facts_without_secrets
from caveat.loadgen.experiment import Watched
from caveat.loadgen.folder import SAMPLES, Notes, marked_folder, write_notes
from caveat.loadgen.generator import HttpTarget
from caveat.measure import Cancel, Live, ParquetSink, Tee
from caveat.workload import plan_digest

ANSWERS = "answers.jsonl"


def answer_dataset(
    order: AccuracyOrder,
    folder: Path,
    *,
    version: str,
    started: str,
    subject: str = "",
    cancel: Cancel | None = None,
    watch: Callable[[Watched], None] | None = None,
    environ: Mapping[str, str] | None = None,
) -> Notes:
    """Ask every row once and leave everything in `folder`, which must not hold a run yet; see `experiment`.

    Nothing is sent where the data set could not be scored afterwards. Raises what endpoint, data set and disk raise.
    """
    import pyarrow.parquet  # noqa: F401  (loading it takes 0.1 s, which must not fall into the run)

    order = order.settled()
    data = order.dataset.read()
    check_before(order, data)
    plan = EveryRow(data, order.concurrency, order.max_tokens)
    notes = Notes(
        version=version,
        started=started,
        plan=plan_digest(plan),
        subject=subject,
        client=machine(),
        before=facts_without_secrets(order.endpoint, environ),
    )
    with marked_folder(folder, ORDER, order.encoded()):
        write_notes(folder, notes)
        with AnswerFile(folder / ANSWERS, order.endpoint.secrets(environ)) as keep:
            target = HttpTarget(
                order.endpoint,
                decoding=order.decoding,
                settings=order.settings,
                count_tokens_with=order.tokenizer_file,
                dataset=order.dataset.file,
                keep=keep,
                environ=environ,
            )
            clock, live = WallClock(), Live(target.in_flight)
            if watch is not None:
                watch(Watched(live, clock))
            target.offer(plan, Tee(ParquetSink(folder / SAMPLES), live), clock, cancel)
        stopped = cancel is not None and cancel.requested()
        notes = msgspec.structs.replace(notes, health=target.health, interrupted=stopped)
        write_notes(folder, notes)
    return notes
