"""A Vega-Lite specification as a file: JSON as it is, SVG and PNG through vl-convert, HTML that needs no network.

Whatever stands in a specification is data: before it is drawn every text is made printable (a control character would
end the process inside the drawing library) and inside HTML nothing of it can close its element.
"""

from __future__ import annotations

import html
import io
import json
from pathlib import Path
from types import ModuleType
from typing import Any, cast

from caveat.errors import UsageError
from caveat.publish.text import json_text, printable

FORMS = (".png", ".svg", ".html", ".json")
_OTHER_FORMS = (".pdf", ".jpg", ".jpeg", ".gif", ".bmp", ".webp", ".htm", ".txt")
_VERSION = "6.1"  # of Vega-Lite: the one that the specifications are written in
_PIXELS = 2.0  # for each point of a PNG
_COLOURS = 256  # of a PNG: a chart has a dozen, the rest are the edges of letters and lines

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; img-src data: blob:">
<title>{title}</title>
<style>body {{ margin: 2rem; background: #fff; font-family: sans-serif }}</style>
</head>
<body>
<div id="chart"></div>
<noscript><pre>{text}</pre></noscript>
<script type="application/json" id="spec">{spec}</script>
<script type="module">{library}</script>
</body>
</html>
"""  # noqa: E501
_SNIPPET = """
const spec = JSON.parse(document.getElementById('spec').textContent);
vegaEmbed('#chart', spec, {renderer: 'svg', actions: {export: true, source: false, compiled: false, editor: false}});
"""


def write_chart(spec: dict[str, Any], path: Path) -> None:
    """Write the chart in the form that the name's ending says.

    UsageError for another ending, where the library that draws is not installed, and for a folder that is not there.
    Whole or not at all.
    """
    form = chart_form(path)
    if not path.parent.is_dir():
        raise UsageError(f"--plot: found no folder {path.parent}, expected one to write {path.name} in")
    content = chart_bytes(spec, form)
    new = path.with_name(f".{path.name}.new")
    new.write_bytes(content)
    new.replace(path)


def is_chart_name(name: str) -> bool:
    """Whether a text means a file for a chart, be it one of a form that is not written; no id ends like one."""
    return Path(name).suffix.lower() in (*FORMS, *_OTHER_FORMS)


def chart_form(path: Path) -> str:
    """The ending of the file's name, in small letters; UsageError unless it is one of FORMS."""
    form = path.suffix.lower()
    if form not in FORMS:
        raise UsageError(f"--plot: found {path.name!r}, expected a name that ends in {', '.join(FORMS)}")
    return form


def chart_bytes(spec: dict[str, Any], form: str) -> bytes:
    """The chart as the content of a file."""
    safe = cast(dict[str, Any], _printable(spec))
    if form == ".json":
        return json_text(safe).encode()
    library = _library()
    if form == ".svg":
        return str(library.vegalite_to_svg(safe, vl_version=_VERSION)).encode()
    if form == ".png":
        return _small(bytes(library.vegalite_to_png(safe, vl_version=_VERSION, scale=_PIXELS)))
    return _html(safe, library)


def _small(png: bytes) -> bytes:
    """The same picture in a palette: charts have few colours, and a tenth of the bytes shows them all."""
    from PIL import Image

    content = io.BytesIO()
    with Image.open(io.BytesIO(png)) as image:
        few = image.convert("RGB").quantize(_COLOURS, dither=Image.Dither.NONE)
    few.save(content, "PNG", optimize=True)
    return content.getvalue()


def _library() -> ModuleType:
    try:
        import PIL  # noqa: F401  (for PNG; part of the same extra)
        import vl_convert
    except ImportError as error:
        raise UsageError(
            "drawing PNG, SVG and HTML needs vl-convert and Pillow, found not both installed",
            code="extra-missing",
            next="pip install 'caveat[report]'; or --plot alone for the terminal, or --plot FILE.json",
        ) from error
    return vl_convert


def _html(spec: dict[str, Any], library: ModuleType) -> bytes:
    title = spec["title"]
    text = "\n".join((title["text"], *title["subtitle"]))
    page = _PAGE.format(
        title=html.escape(title["text"]),
        text=html.escape(text),
        spec=_in_script(json.dumps(spec, ensure_ascii=True)),
        library=library.javascript_bundle(_SNIPPET, vl_version=_VERSION),
    )
    return page.encode()


def _in_script(text: str) -> str:
    """JSON that cannot end the element it stands in, nor begin a comment there."""
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _printable(content: Any) -> Any:
    """The same content with every text printable, keys excepted: those are ours."""
    match content:
        case str():
            return printable(content)
        case dict():
            return {key: _printable(value) for key, value in content.items()}
        case list():
            return [_printable(value) for value in content]
        case _:
            return content
