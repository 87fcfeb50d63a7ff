"""loadgen: a Plan against a real endpoint, in wall-clock time; an experiment and the Run that comes of it."""

from caveat.loadgen.body import Decoding
from caveat.loadgen.client_calibration import ClientCalibration, calibration, measure_client
from caveat.loadgen.clock import WallClock
from caveat.loadgen.endpoint import Endpoint
from caveat.loadgen.experiment import Watched, experiment
from caveat.loadgen.failures import CLASSES
from caveat.loadgen.folder import NOTES, SAMPLES, SPEC, Notes, is_going, read_folder
from caveat.loadgen.generator import HttpTarget
from caveat.loadgen.prompts import PromptSettings, fresh_salt
from caveat.loadgen.record import record
from caveat.loadgen.replay import Replay
from caveat.loadgen.selfcheck import ClientHealth
from caveat.loadgen.served import served_model, until_answering
from caveat.loadgen.settings import Settings
from caveat.loadgen.spec import Spec, decode_spec, encode_spec, read_spec

__all__ = [
    "CLASSES",
    "NOTES",
    "SAMPLES",
    "SPEC",
    "ClientCalibration",
    "ClientHealth",
    "Decoding",
    "Endpoint",
    "HttpTarget",
    "Notes",
    "PromptSettings",
    "Replay",
    "Settings",
    "Spec",
    "WallClock",
    "Watched",
    "calibration",
    "decode_spec",
    "encode_spec",
    "experiment",
    "fresh_salt",
    "is_going",
    "measure_client",
    "read_folder",
    "read_spec",
    "record",
    "served_model",
    "until_answering",
]
