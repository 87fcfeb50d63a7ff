"""simulator: a Plan against a modelled server in virtual time; models, and how they are calibrated."""

from caveat.simulator.ablate import Ablation, Ratios, Worth, ablate, ablation_json
from caveat.simulator.ablate_seen import Side
from caveat.simulator.ablate_sides import TECHNIQUES, Assumed, Technique
from caveat.simulator.assumed_prefix import with_assumed_prefix
from caveat.simulator.autoscaling import Autoscaling
from caveat.simulator.calibrate import Calibration, HeldOut, calibrate
from caveat.simulator.calibration import Hit, from_data_sheets, from_published, from_samples
from caveat.simulator.capacity import PREDICTABLE_TO, Capacity, Interval
from caveat.simulator.changed import changed, fleet_of, prefix_hit_of, scheduler_of
from caveat.simulator.disaggregation import Disaggregation
from caveat.simulator.disclosed import basis_words, coverage_lines
from caveat.simulator.explain import Explanation, Point, explain, explain_json
from caveat.simulator.explain_question import Question
from caveat.simulator.explain_scenarios import Offline, Served
from caveat.simulator.failures import Failures, Outage
from caveat.simulator.fit_verdict import Fitted, fit_words
from caveat.simulator.fleet import Fleet
from caveat.simulator.fleet_table import FleetTable, ModelsTable
from caveat.simulator.grades import CLAIMS, coverages, statement
from caveat.simulator.internals import Internals
from caveat.simulator.length_mix import LengthMix, mix_of
from caveat.simulator.live import Live
from caveat.simulator.load import Load, capacity_of, load_of
from caveat.simulator.model_file import (
    Model,
    Range,
    SchedulerTable,
    Validated,
    decode_model,
    encode_model,
    model_schema,
    read_model,
)
from caveat.simulator.modelled import server_of
from caveat.simulator.parameters import Parameter, parameters_of
from caveat.simulator.predict import DRAWS, Prediction, predict
from caveat.simulator.published import Layout
from caveat.simulator.replica import Replica
from caveat.simulator.request import Request
from caveat.simulator.roofline import Roofline
from caveat.simulator.routers import ROUTERS, Routing
from caveat.simulator.scheduler import Scheduler, Speculation
from caveat.simulator.several_models import SeveralModels
from caveat.simulator.shipped import model_named, shipped_models
from caveat.simulator.standing import Standing, standing_of
from caveat.simulator.step_models import MeasuredSteps, RooflineSteps
from caveat.simulator.step_time import Piece, StepTime
from caveat.simulator.target import SimulatedServer, VirtualClock

__all__ = [
    "CLAIMS",
    "DRAWS",
    "PREDICTABLE_TO",
    "ROUTERS",
    "TECHNIQUES",
    "Ablation",
    "Assumed",
    "Autoscaling",
    "Calibration",
    "Capacity",
    "Disaggregation",
    "Explanation",
    "Failures",
    "Fitted",
    "Fleet",
    "FleetTable",
    "HeldOut",
    "Hit",
    "Internals",
    "Interval",
    "Layout",
    "LengthMix",
    "Live",
    "Load",
    "MeasuredSteps",
    "Model",
    "ModelsTable",
    "Offline",
    "Outage",
    "Parameter",
    "Piece",
    "Point",
    "Prediction",
    "Question",
    "Range",
    "Ratios",
    "Replica",
    "Request",
    "Roofline",
    "RooflineSteps",
    "Routing",
    "Scheduler",
    "SchedulerTable",
    "Served",
    "SeveralModels",
    "Side",
    "SimulatedServer",
    "Speculation",
    "Standing",
    "StepTime",
    "Technique",
    "Validated",
    "VirtualClock",
    "Worth",
    "ablate",
    "ablation_json",
    "basis_words",
    "calibrate",
    "capacity_of",
    "changed",
    "coverage_lines",
    "coverages",
    "decode_model",
    "encode_model",
    "explain",
    "explain_json",
    "fit_words",
    "fleet_of",
    "from_data_sheets",
    "from_published",
    "from_samples",
    "load_of",
    "mix_of",
    "model_named",
    "model_schema",
    "parameters_of",
    "predict",
    "prefix_hit_of",
    "read_model",
    "scheduler_of",
    "server_of",
    "shipped_models",
    "standing_of",
    "statement",
    "with_assumed_prefix",
]
