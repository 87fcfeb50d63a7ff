"""loopback: an OpenAI-compatible endpoint of our own that tells the truth about what it did.

For calibrating a load generator, for demos and for tests; a model of a server can drive it in place of fixed delays.
"""

from caveat.loopback.behaviour import Behaviour, Fault, behaviour_of, read_behaviour
from caveat.loopback.engine import Emission, Engine, FixedEngine, Job
from caveat.loopback.laws import Exponential, Fixed, Law, Lognormal, draw, parse_law, uniform
from caveat.loopback.modelled import ModelledEngine, modelled
from caveat.loopback.process import Process, start_process
from caveat.loopback.running import Loopback, MakeEngine, Running, run
from caveat.loopback.truth import Lag, Truth, read_log
from caveat.loopback.words import answer_words, prompt_words

__all__ = [
    "Behaviour",
    "Emission",
    "Engine",
    "Exponential",
    "Fault",
    "Fixed",
    "FixedEngine",
    "Job",
    "Lag",
    "Law",
    "Lognormal",
    "Loopback",
    "MakeEngine",
    "ModelledEngine",
    "Process",
    "Running",
    "Truth",
    "answer_words",
    "behaviour_of",
    "draw",
    "modelled",
    "parse_law",
    "prompt_words",
    "read_behaviour",
    "read_log",
    "run",
    "start_process",
    "uniform",
]
