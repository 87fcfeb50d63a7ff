"""official: a scenario through MLCommons' own LoadGen, in a process of its own, against an OpenAI-compatible endpoint.

LoadGen (extra `mlperf`) decides what is sent when and judges the run; its logs are kept for the importer to read. The
requests are made by the same client as everywhere in this room, and its samples are kept beside the logs.
"""

from caveat.loadgen.official.of_spec import settings_of
from caveat.loadgen.official.outcome import OfficialCounts, OfficialRun
from caveat.loadgen.official.process import OfficialProgress
from caveat.loadgen.official.run import official_run, require_loadgen
from caveat.loadgen.official.settings import OfficialSettings

__all__ = [
    "OfficialCounts",
    "OfficialProgress",
    "OfficialRun",
    "OfficialSettings",
    "official_run",
    "require_loadgen",
    "settings_of",
]
