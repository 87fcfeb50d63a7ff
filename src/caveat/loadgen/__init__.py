"""loadgen: a Plan against a real endpoint, in wall-clock time; an experiment and the Run that comes of it."""

from caveat.loadgen.accuracy import ANSWERS, answer_dataset
from caveat.loadgen.accuracy_order import ORDER, AccuracyOrder, check_before, read_order
from caveat.loadgen.accuracy_record import accuracy_run
from caveat.loadgen.body import Decoding
from caveat.loadgen.client_calibration import ClientCalibration, calibration, measure_client
from caveat.loadgen.clock import WallClock
from caveat.loadgen.dataset import DatasetFile
from caveat.loadgen.endpoint import UNNAMED, Endpoint
from caveat.loadgen.experiment import Watched, experiment, prompts_for
from caveat.loadgen.failures import CLASSES, CLIENT_LIMITS
from caveat.loadgen.folder import NOTES, SAMPLES, SPEC, Notes, copy_folder, differing_file, is_going, read_folder
from caveat.loadgen.generator import HttpTarget
from caveat.loadgen.peak_search import at_rate, find_peak, goal_of, start_rate
from caveat.loadgen.prompts import PromptSettings, fresh_salt
from caveat.loadgen.record import record
from caveat.loadgen.replay import Replay
from caveat.loadgen.selfcheck import ClientHealth
from caveat.loadgen.served import served_model, until_answering
from caveat.loadgen.settings import Settings
from caveat.loadgen.spec import Spec, decode_spec, encode_spec, read_spec, spec_schema
from caveat.loadgen.tokens import tokenizer_identity

__all__ = [
    "ANSWERS",
    "CLASSES",
    "CLIENT_LIMITS",
    "NOTES",
    "ORDER",
    "SAMPLES",
    "SPEC",
    "UNNAMED",
    "AccuracyOrder",
    "ClientCalibration",
    "ClientHealth",
    "DatasetFile",
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
    "accuracy_run",
    "answer_dataset",
    "at_rate",
    "calibration",
    "check_before",
    "copy_folder",
    "decode_spec",
    "differing_file",
    "encode_spec",
    "experiment",
    "find_peak",
    "fresh_salt",
    "goal_of",
    "is_going",
    "measure_client",
    "prompts_for",
    "read_folder",
    "read_order",
    "read_spec",
    "record",
    "served_model",
    "spec_schema",
    "start_rate",
    "tokenizer_identity",
    "until_answering",
]
