"""publish.charts_files: a specification as JSON, SVG, PNG and HTML, harmless whatever stands in it."""

import builtins
import io
import json
import re
import xml.etree.ElementTree as ElementTree

import pytest
from PIL import Image

from caveat.errors import UsageError
from caveat.publish import is_chart_name, write_chart
from caveat.publish.charts import run_chart
from caveat.publish.charts_curve import curve_chart
from caveat.publish.charts_files import chart_bytes
from caveat.publish.charts_style import BLUE
from caveat.publish.curve_points import curve_of
from tests.publish.drawn import HOSTILE, point, run


@pytest.fixture(scope="module")
def hostile():
    """A curve whose head holds everything that breaks a page."""
    return curve_chart(curve_of([point(n, 100, 0.01, model=HOSTILE) for n in (1, 2)]))


def test_a_png_is_one_and_is_large_enough_to_read(tmp_path):
    """Two pixels for each point."""
    write_chart(run_chart(*run()), tmp_path / "run.png")
    content = (tmp_path / "run.png").read_bytes()
    assert content.startswith(b"\x89PNG\r\n\x1a\n")
    assert int.from_bytes(content[16:20]) > 1600
    assert len(content) < 200_000
    assert [path.name for path in tmp_path.iterdir()] == ["run.png"]


def test_an_svg_is_wellformed_and_holds_hostile_text_as_text(hostile):
    """No element and no attribute comes of it."""
    root = ElementTree.fromstring(chart_bytes(hostile, ".svg"))
    tags = {element.tag.rpartition("}")[2] for element in root.iter()}
    assert tags <= {"svg", "g", "path", "text", "rect", "defs", "clipPath", "title", "line", "tspan"}
    assert "<img src=x onerror=alert(2)>" in " ".join(root.itertext())
    assert not any(name.lower().startswith("on") for element in root.iter() for name in element.attrib)


def test_a_page_needs_no_network_and_lets_nothing_out_of_its_data(hostile):
    """Two scripts: the data, which cannot end its element, and the library."""
    page = chart_bytes(hostile, ".html").decode()
    head, _, scripts = page.partition('<script type="application/json" id="spec">')
    data, _, library = scripts.partition("</script>")
    assert json.loads(data)["title"] == json.loads(chart_bytes(hostile, ".json"))["title"]
    assert "alert(1)" in head
    assert "<script" not in head
    assert "<img" not in head
    assert library.lower().count("</script") == 1
    assert re.findall(r"""(?:src|href)=["']?http""", page) == []
    assert "default-src 'none'" in head


def test_json_is_the_specification_and_needs_no_library(hostile, monkeypatch):
    """What a dashboard draws."""
    _without_library(monkeypatch)
    assert json.loads(chart_bytes(hostile, ".json"))["mark" if "mark" in hostile else "layer"]


def test_a_png_keeps_its_colours():
    """A palette has room for the dozen of a chart: its blue is that blue."""
    with Image.open(io.BytesIO(chart_bytes(run_chart(*run()), ".png"))) as image:
        found = {color for _, color in image.convert("RGB").getcolors(1000)}
    assert len(found) <= 256
    assert {(0xFF, 0xFF, 0xFF), tuple(bytes.fromhex(BLUE[1:]))} <= found


@pytest.mark.parametrize("form", [".png", ".svg", ".html"])
def test_without_the_library_the_refusal_names_the_extra(form, hostile, monkeypatch):
    """And what can be had without."""
    _without_library(monkeypatch)
    with pytest.raises(UsageError, match="vl-convert") as refused:
        chart_bytes(hostile, form)
    assert (refused.value.code, "caveat[report]" in refused.value.next) == ("extra-missing", True)


def _without_library(monkeypatch):
    real = builtins.__import__

    def importing(name, *rest, **named):
        if name == "vl_convert":
            raise ImportError(name)
        return real(name, *rest, **named)

    monkeypatch.setattr(builtins, "__import__", importing)


def test_another_ending_is_refused_before_anything_is_written(tmp_path):
    """The message lists those that are written."""
    with pytest.raises(UsageError, match=r"found 'run.pdf', expected a name that ends in .png, .svg, .html, .json"):
        write_chart(run_chart(*run()), tmp_path / "run.pdf")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_there_is_refused_by_its_name(tmp_path):
    """Not by that of a file that the caller never named."""
    with pytest.raises(UsageError, match=r"found no folder .*nowhere, expected one to write run.svg in"):
        write_chart(run_chart(*run()), tmp_path / "nowhere" / "run.svg")


def test_no_id_is_taken_for_a_file():
    """Ids, subjects and metric keys end otherwise."""
    names = ("3f2a90c1", "3f2a90c1.loadgen-ttft.p99", "v6.1/closed/x/server/run_1", "3f2a90c1.caveat-ttft.max")
    assert not any(map(is_chart_name, names))
    assert all(map(is_chart_name, ("run.png", "a/b.SVG", "run.pdf")))
