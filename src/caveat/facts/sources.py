"""Where the tables of this room come from: short citations, each a repository at a commit with its date."""

from __future__ import annotations

LOADGEN = "mlcommons/inference loadgen (results.cc, mlperf.conf) @ b66003e (2026-08-20)"
CHECKER = "mlcommons/inference tools/submission/submission_checker constants.py @ b66003e (2026-08-20)"
CHECKER_OLD = "mlcommons/inference tools/submission/submission_checker.py @ af2780c8 (v4.0, v4.1)"
REFERENCE = "mlcommons/inference language, multimodal, speech2text, e2e-rag @ b66003e (2026-08-20)"
RULES = "mlcommons/inference_policies inference_rules.adoc @ ac93e89 (2026-07-23)"
COMPATIBILITY = "mlcommons/policies MLPerf_Compatibility_Table.adoc @ c195f80 (2026-04-28)"
MESSAGING = "mlcommons/policies MLPerf_Results_Messaging_Guidelines.adoc @ c195f80 (2026-04-28)"
RESULTS_41 = "mlcommons/inference_results_v4.1 @ 198fc46"
RESULTS_51 = "mlcommons/inference_results_v5.1 @ 965182b"
RESULTS_60 = "gbeezybez/inference_results_v6.0 @ 232fbf9 (a fork of the official tree)"
RESULTS_61 = "intel-ai-tce/inference_results_v6.1 @ 5174fca (a fork of the official tree)"
