"""How far a replay of a profile is from its trace: one plan of it described and set beside the trace's description."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import msgspec

from caveat.workload.traces.describe import TraceDescription, describe_trace
from caveat.workload.traces.profile import Profile
from caveat.workload.traces.recording import Recording, recording_of
from caveat.workload.traces.replay import plan_of

_WITHIN = {"dispersion": 0.10, "length": 0.05, "share": 0.02}
"""What counts as met: shares of the trace's own value, and 2 points for what is a share itself."""


class ReplayDifference(msgspec.Struct, frozen=True, kw_only=True):
    """One statistic of a trace and of one replay of its profile; `met` says whether they are as near as promised."""

    name: str
    kind: Literal["dispersion", "length", "share"]
    trace: float
    replay: float

    @property
    def met(self) -> bool:
        """Within 10 % of a dispersion, 5 % of a length, 2 points of a share."""
        off = abs(self.replay - self.trace)
        return off <= _WITHIN[self.kind] * (1.0 if self.kind == "share" else abs(self.trace))

    def words(self) -> str:
        """Both values for people."""
        form = ".1%" if self.kind == "share" else ",.4g"
        return f"{self.name}: {self.trace:{form}} in the trace, {self.replay:{form}} in the replay"


def replay_differences(recording: Recording, profile: Profile, *, seed: int = 0) -> tuple[ReplayDifference, ...]:
    """Dispersion at 1, 10 and 60 s, lengths, and reuse with caches of every size and age, met or not."""
    replay = describe_trace(recording_of(plan_of(profile, seed)))
    return tuple(_compared(describe_trace(recording), replay))


def _compared(trace: TraceDescription, replay: TraceDescription) -> Iterator[ReplayDifference]:
    for there, here in zip(trace.rates[:3], replay.rates[:3], strict=False):
        if there.dispersion is not None and here.dispersion is not None:
            name = f"dispersion at {there.scale_s:g} s"
            yield ReplayDifference(name=name, kind="dispersion", trace=there.dispersion, replay=here.dispersion)
    for what in ("input", "output"):
        theirs, ours = getattr(trace, f"{what}_tokens"), getattr(replay, f"{what}_tokens")
        for name in ("p50", "p90", "p99"):
            yield ReplayDifference(
                name=f"{name} of {what} tokens", kind="length", trace=theirs[name], replay=ours[name]
            )
    if trace.prefixes is not None and replay.prefixes is not None:
        a, b = trace.prefixes, replay.prefixes
        shares = {"input tokens seen before": (a.share_of_tokens, b.share_of_tokens)}
        shares |= {f"blocks reused if forgotten after {s} s": (v, b.within_s[s]) for s, v in a.within_s.items()}
        shares |= {
            f"blocks reused with a cache of {int(n):,} blocks": (v, b.within_blocks[n])
            for n, v in a.within_blocks.items()
        }
        for name, (there_share, here_share) in shares.items():
            yield ReplayDifference(name=name, kind="share", trace=there_share, replay=here_share)
