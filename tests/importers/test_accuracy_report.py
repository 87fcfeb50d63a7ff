"""Accuracy reports in the shapes that real evaluations print."""

import pytest

from caveat.importers.mlperf.accuracy_report import read_accuracy
from tests.importers.loadgen_files import ACCURACY

# (content, scores, tokens per sample)
SHAPES = {
    "llama2, numpy counts": (
        ACCURACY,
        {"rouge1": 44.5433, "rouge2": 22.1372, "rougeL": 28.9134, "rougeLsum": 42.1},
        282.9,
    ),
    "llama3.1-8b, quoted": (
        b"{'rouge1': '38.732', 'rouge2': '15.9', 'rougeL': '24.5', 'gen_len': 8167644}\r\nhash=ab\r\n",
        {"rouge1": 38.732, "rouge2": 15.9, "rougeL": 24.5},
        None,
    ),
    "405b, other order": (
        b"{'rougeL': 21.7, 'exact_match': 90.2, 'gen_len': 1, 'tokens_per_sample': 684.7}\n",
        {"rougeL": 21.7, "exact_match": 90.2},
        684.7,
    ),
    "mixtral, after a count of tests": (
        b" 60.00% pass@1\n{'ruby': 416, 'python': 482}\n"
        b"{'rouge1': 45.4, 'gsm8k': 73.66, 'mbxp': 60.0, 'tokens_per_sample': 145.3}\n",
        {"rouge1": 45.4, "gsm8k": 73.66, "mbxp": 60.0},
        145.3,
    ),
    "deepseek, thousands of scores": (
        b"1.0\n0.0\n" * 2000 + b"{'exact_match': 81.5, 'tokens_per_sample': 3886.2, 'num-samples': 4388}\n",
        {"exact_match": 81.5},
        3886.2,
    ),
    "gpt-oss, raw accuracy is not the metric": (
        b"Overall raw accuracy: 82.25% (3615/4395)\nFINAL SCORE: 83.00%\n\n'exact_match': 83.001\n\nhash=f4\n",
        {"exact_match": 83.001},
        None,
    ),
    "vision, JSON": (b'Results\n\n{"f1": 0.787752047599809}\n', {"F1_HIERARCHICAL": 0.787752047599809}, None),
    "speech": (b"Word Error Rate: 2.16%, accuracy=97.83%\n", {"accuracy": 97.83}, None),
    "progress bar on the line": (
        b"\r 10%|#  | 1/9\r100%|###| 9/9\r{'rouge1': 44.0, 'tokens_per_sample': 290.0}\n",
        {"rouge1": 44.0},
        290.0,
    ),
    "two evaluations": (b"{'rouge1': 1.0}\nhash=a\n{'rouge1': 2.0}\nhash=b\n", {"rouge1": 2.0}, None),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_scores_are_found_in_every_shape(tmp_path, shape):
    """Scores by the checker's keys, and the mean output length where it is told."""
    content, scores, tokens = SHAPES[shape]
    path = tmp_path / "accuracy.txt"
    path.write_bytes(content)
    report = read_accuracy(path, "shown")
    assert (report.scores, report.tokens_per_sample, report.problems) == (scores, tokens, ())


@pytest.mark.parametrize(
    "content", [b"", b"hash=ab\n", b"Traceback: no module\n", b"\xff\x00" * 999, b"{'rouge1': nan}"]
)
def test_a_report_without_scores_is_a_problem(tmp_path, content):
    """Nothing is guessed."""
    path = tmp_path / "accuracy.txt"
    path.write_bytes(content)
    report = read_accuracy(path, "shown")
    assert report.scores == {}
    assert [problem.code for problem in report.problems] == ["accuracy-unrecognised"]


def test_a_number_that_runs_on_is_no_score(tmp_path):
    """Half a number would be a lie."""
    path = tmp_path / "accuracy.txt"
    path.write_bytes(b"{'rouge1': 44.5.6, 'rouge2': 22x}")
    assert read_accuracy(path, "shown").scores == {}
