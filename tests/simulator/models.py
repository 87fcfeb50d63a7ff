"""Small models for tests, as documents, so that the reader sees every number."""

from caveat.simulator import Model, decode_model

SMALL = """
format = "caveat-model/1"
name = "small"
grade = "A"
prefix_hit = {hit}

[step_time]
kind = "measured"
piece = {{step_s = 0.01, sequence_s = 1e-4, context_token_s = 1e-8, prompt_token_s = 1e-5}}

[step_time.draws]
step_s = "0.009 0.010 0.011 0.0105"
sequence_s = "1e-4 1.1e-4 0.9e-4 1e-4"
context_token_s = "1e-8 1e-8 1e-8 1e-8"
prompt_token_s = "1e-5 1.2e-5 0.8e-5 1e-5"
overhead_s = "0.02 0.021 0.019 0.02"

[overheads]
intake_s = 0.02

[scheduler]
max_num_seqs = {seats}
token_budget = 2048

[provenance]
origin = "measured"
date = "2026-11-30"

[validated]
rate_per_s = {{low = 1.0, high = 40.0}}
concurrency = {{low = 1.0, high = 64.0}}
input_tokens = {{low = 50.0, high = 200.0}}
output_tokens = {{low = 10.0, high = 100.0}}
arrival_cv = {{low = 0.0, high = 1.1}}
"""


def small(*, hit: str = "0.0", seats: str = "64") -> Model:
    """A model with draws, that was validated for small requests at up to 40 a second."""
    return decode_model(document(hit=hit, seats=seats))


def document(*, hit: str = "0.0", seats: str = "64") -> str:
    """The same as TOML."""
    return SMALL.format(hit=hit, seats=seats)
