"""caveat: LLM inference performance figures, kept together with the conditions that make them true."""

from caveat.errors import CaveatError
from caveat.figures import Conditions, Figure, Metric, Provenance, Run

__version__ = "0.1.0"

__all__ = ["CaveatError", "Conditions", "Figure", "Metric", "Provenance", "Run", "__version__"]
