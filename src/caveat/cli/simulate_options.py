"""The options of `caveat simulate` beside those that it has from `caveat measure`: a line each, as they are meant."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

# what is asked, and what is changed of it
ModelName = Annotated[str, typer.Argument(help="Model file, or the name of a shipped model.", metavar="MODEL")]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", help="A setting of the model: fleet.replicas=8, prefix_hit=0.3; several may be given."),
]
Extrapolate = Annotated[bool, typer.Option("--extrapolate", help="Answer outside the validated range, and mark it.")]

# how it is simulated
Draws = Annotated[
    int, typer.Option("--draws", help="Possibilities of the model behind each interval.", min=1, max=2000)
]
Stepping = Annotated[bool, typer.Option("--stepping", help="Each iteration by itself: same samples, slower.")]
Ablate = Annotated[bool, typer.Option("--ablate", help="What each technique is worth here, one at a time.")]

# explain
Scales = Annotated[
    str | None, typer.Option("--scales", help="Replicas of the model: 1,8,72; default up to 72 accelerators.")
]
ExplainDraws = Annotated[
    int,
    typer.Option("--draws", help="Possibilities of the model behind ranges, each a search; 0: none.", min=0, max=2000),
]
BatchLimits = Annotated[str | None, typer.Option("--batch-limits", help="max_num_seqs to try: 64,256.")]
InteractiveSlo = Annotated[str | None, typer.Option("--interactive-slo", help="The tighter limits, as for --slo.")]

# calibrate
RunNames = Annotated[list[str] | None, typer.Argument(help="Measured runs of the ledger.", metavar="RUN...")]
ModelFile = Annotated[Path | None, typer.Option("--output", "-o", help="Model file to write.")]
ModelTitle = Annotated[str | None, typer.Option("--name", help="Name of the model; default from what it is made of.")]
Published = Annotated[
    list[str] | None,
    typer.Option(
        "--published", help="From published runs whose conditions fit; several must all hold.", metavar="WHERE"
    ),
]
DataSheet = Annotated[
    str | None,
    typer.Option("--datasheet", help="From facts alone: accelerator=H100-SXM,model=llama3.1-8b,tp=1,precision=fp8."),
]
InputTokens = Annotated[
    float | None,
    typer.Option("--input-tokens", help="With --published: mean prompt, which published runs do not state.", min=1),
]
