"""The catalogue: every caveat, most telling first. To add one, write its module and put it in the table."""

from __future__ import annotations

import difflib

from caveat.caveats import (
    accuracy_track,
    accuracy_unchecked,
    chunks_are_not_tokens,
    client_limited,
    closed_loop_hides_waiting,
    counts_are_claims,
    fixed_shape_is_not_your_traffic,
    good_as_a_floor,
    good_for_like_with_like,
    good_for_spotting_a_fault,
    inferred_tokens,
    limits_differ,
    no_stable_scenario_discount,
    offline_is_not_serving,
    one_run_two_rows,
    one_tuned_configuration,
    open_division,
    per_accelerator_is_derived,
    poisson_at_a_chosen_rate,
    preview,
    self_reported,
    server_rate_is_a_floor,
    shape_slack,
    simulated,
    tail_inside_the_rate,
    techniques_undisclosed,
    tokens_of_two_shapes,
    warm_prefix_cache,
)
from caveat.caveats.caveat import Caveat
from caveat.errors import NotFoundError
from caveat.figures import Figure

CATALOGUE: tuple[Caveat, ...] = (
    # what kind of figure it is at all
    simulated.CAVEAT,
    self_reported.CAVEAT,
    client_limited.CAVEAT,
    preview.CAVEAT,
    open_division.CAVEAT,
    # what the load was
    offline_is_not_serving.CAVEAT,
    server_rate_is_a_floor.CAVEAT,
    no_stable_scenario_discount.CAVEAT,
    tail_inside_the_rate.CAVEAT,
    limits_differ.CAVEAT,
    poisson_at_a_chosen_rate.CAVEAT,
    closed_loop_hides_waiting.CAVEAT,
    # what one request was, and what one token is
    fixed_shape_is_not_your_traffic.CAVEAT,
    tokens_of_two_shapes.CAVEAT,
    shape_slack.CAVEAT,
    inferred_tokens.CAVEAT,
    chunks_are_not_tokens.CAVEAT,
    warm_prefix_cache.CAVEAT,
    # model, stack and system
    accuracy_track.CAVEAT,
    accuracy_unchecked.CAVEAT,
    one_run_two_rows.CAVEAT,
    one_tuned_configuration.CAVEAT,
    techniques_undisclosed.CAVEAT,
    counts_are_claims.CAVEAT,
    per_accelerator_is_derived.CAVEAT,
    # and what a figure is good for
    good_as_a_floor.CAVEAT,
    good_for_like_with_like.CAVEAT,
    good_for_spotting_a_fault.CAVEAT,
)

_BY_ID = {caveat.id: caveat for caveat in CATALOGUE}


def caveat_named(name: str) -> Caveat:
    """The caveat of that id. NotFoundError names the nearest ids."""
    if name in _BY_ID:
        return _BY_ID[name]
    near = difflib.get_close_matches(name, _BY_ID, n=3, cutoff=0.5)
    raise NotFoundError(
        f"no caveat is called {name!r}",
        next=f"did you mean {', '.join(near)}?" if near else f"one of {', '.join(_BY_ID)}",
    )


def applying(figure: Figure) -> tuple[Caveat, ...]:
    """The caveats that apply to a figure, in the order of the catalogue."""
    return tuple(caveat for caveat in CATALOGUE if caveat.applies(figure))


def sentences(figure: Figure) -> tuple[tuple[str, str], ...]:
    """(id, sentence) of each caveat that applies to a figure: what travels with it. Plain text, one line each."""
    return tuple((caveat.id, caveat.sentence_on(figure)) for caveat in applying(figure))
