"""Traces: recorded traffic read, described, fitted, made into profiles, replayed and written."""

from caveat.workload.traces.describe import TraceDescription, describe_trace
from caveat.workload.traces.drawn import is_servegen, servegen_recording, servegen_workload
from caveat.workload.traces.fit import fit_trace
from caveat.workload.traces.fit_result import Candidate, FitResult, FitTest
from caveat.workload.traces.formats import FORMATS
from caveat.workload.traces.profile import Profile, decode_profile, encode_profile, read_profile
from caveat.workload.traces.profile_of import privacy_statement, profile_of
from caveat.workload.traces.read import TraceRead, TraceStream, read_trace
from caveat.workload.traces.recording import Recording, TraceSource, recording_of
from caveat.workload.traces.replay import ProfilePlan, RecordingPlan, plan_of, plan_of_recording
from caveat.workload.traces.replay_check import ReplayDifference, replay_differences
from caveat.workload.traces.transform import (
    first_seconds,
    scaled_lengths,
    sped_up,
    spread_within_steps,
    thinned,
)
from caveat.workload.traces.write import synthesize, write_plan, write_recording

__all__ = [
    "FORMATS",
    "Candidate",
    "FitResult",
    "FitTest",
    "Profile",
    "ProfilePlan",
    "Recording",
    "RecordingPlan",
    "ReplayDifference",
    "TraceDescription",
    "TraceRead",
    "TraceSource",
    "TraceStream",
    "decode_profile",
    "describe_trace",
    "encode_profile",
    "first_seconds",
    "fit_trace",
    "is_servegen",
    "plan_of",
    "plan_of_recording",
    "privacy_statement",
    "profile_of",
    "read_profile",
    "read_trace",
    "recording_of",
    "replay_differences",
    "scaled_lengths",
    "servegen_recording",
    "servegen_workload",
    "sped_up",
    "spread_within_steps",
    "synthesize",
    "thinned",
    "write_plan",
    "write_recording",
]
