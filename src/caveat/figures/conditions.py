"""The conditions that make a figure true, as one table. A run's values for it are held in condition_values.py.

To add a condition, add one line to `TABLE`; no stored id changes, because ids leave out what is not known.
"""

from __future__ import annotations

from caveat.figures.kinds import Condition

GROUPS = ("workload", "load", "model", "system", "stack", "protocol")
SCENARIOS = ("offline", "server", "interactive", "single-stream", "multi-stream")


TABLE: tuple[Condition, ...] = (
    # workload: what one request is
    Condition("benchmark", "workload", "text", "published benchmark or data set profile, with its accuracy track"),
    Condition("model_submitted", "workload", "text", "name under which the model was filed, where it is another"),
    Condition("dataset", "workload", "text", "where the prompts come from"),
    Condition("dataset_samples", "workload", "count", "distinct prompts of the performance run"),
    Condition("input_tokens", "workload", "lengths", "input length of a request", "{token}"),
    Condition("input_tokens_requested", "workload", "lengths", "input length that was asked for", "{token}"),
    Condition("output_tokens", "workload", "lengths", "output length achieved in this run", "{token}"),
    Condition("output_tokens_requested", "workload", "lengths", "output length that was asked for", "{token}"),
    Condition(
        "accuracy_tokens_per_sample",
        "workload",
        "number",
        "mean output length in the accuracy run",
        "{token}",
    ),
    Condition("token_source", "workload", "text", "who counted the tokens of these lengths and rates"),
    Condition("input_tokens_max", "workload", "count", "longest input the benchmark admits", "{token}"),
    Condition("output_tokens_cap", "workload", "count", "output length at which generation is cut", "{token}"),
    Condition("prefix_reuse", "workload", "text", "how much of the input is shared between requests"),
    Condition("prefix_reuse_share", "workload", "number", "share of input tokens in blocks that an earlier prompt had"),
    Condition("cached_share", "workload", "number", "share of input tokens that the server says it had in its cache"),
    Condition("salted", "workload", "flag", "prompts share no beginning with those of any other run"),
    Condition("sessions", "workload", "text", "whether requests follow each other in conversations"),
    Condition("modality", "workload", "text", "text, image+text or speech"),
    Condition("decoding", "workload", "text", "greedy, beams, or sampling parameters"),
    # load: how requests arrive, and what was demanded of their latency
    Condition(
        "scenario", "load", "text", "how load is offered, in the suite's words: offline, server, interactive, ..."
    ),
    Condition(
        "arrivals", "load", "text", "arrival process: poisson, constant, all at once, a fixed number in flight, ..."
    ),
    Condition(
        "loop", "load", "text", "whether completions hold back arrivals", "", ("open", "semi-open", "closed", "burst")
    ),
    Condition(
        "latency_clock", "load", "text", "moment from which latency counts: scheduled arrival, issue or test start"
    ),
    Condition("profile", "load", "text", "benchmark and round whose rules of load the run had; no result of theirs"),
    Condition("profile_changes", "load", "text", "what was asked otherwise than the profile asks, usually less"),
    Condition("seeds", "load", "text", "seeds of arrivals and of the order of samples"),
    Condition("target_qps", "load", "number", "rate that was asked for, not a limit that was found", "{request}/s"),
    Condition("scheduled_qps", "load", "number", "rate at which requests were scheduled", "{request}/s"),
    Condition("completed_qps", "load", "number", "rate at which requests were completed", "{request}/s"),
    Condition("concurrency", "load", "count", "requests always in flight (closed loop)", "{request}"),
    Condition(
        "load_fraction",
        "load",
        "numbers",
        "rate / largest rate that the modelled server carries: median, 80 % range; medians of its parts",
    ),
    Condition("duration_s", "load", "seconds", "length of the measured window", "s"),
    Condition("min_duration_s", "load", "seconds", "shortest duration that was demanded", "s"),
    Condition("queries", "load", "count", "queries issued in the measured window"),
    Condition("min_queries", "load", "count", "fewest queries that were demanded"),
    Condition("samples_per_query", "load", "count", "samples that arrive together"),
    Condition("warmup", "load", "text", "what was left out at the start, and by which rule"),
    Condition("ttft_limit_s", "load", "seconds", "limit on time to first token", "s"),
    Condition("tpot_limit_s", "load", "seconds", "limit on time per output token", "s"),
    Condition("latency_limit_s", "load", "seconds", "limit on the whole request", "s"),
    Condition("limit_percentile", "load", "number", "percentile at which the limits hold, as a share"),
    Condition(
        "headroom_ttft",
        "load",
        "number",
        "TTFT / its limit, at the limit's percentile: near 1 is at the limit, small far below",
    ),
    Condition(
        "headroom_tpot",
        "load",
        "number",
        "TPOT / its limit, at the limit's percentile: near 1 is at the limit, small far below",
    ),
    Condition(
        "headroom_latency", "load", "number", "latency / its limit, at the limit's percentile: near 1 is at the limit"
    ),
    Condition("coalesced", "load", "flag", "overdue queries were handed over together (latencies unchanged)"),
    Condition("whole_sets", "load", "flag", "queries go through the whole sample set, again and again"),
    Condition(
        "schedule_ns", "load", "count", "sum of all drawn gaps as the log states it, one past the last query", "ns"
    ),
    Condition(
        "schedule",
        "load",
        "text",
        "whether the arrival schedule was recomputed from its seed and matched the log",
        "",
        ("reproduced", "differs", "not checked", "not checkable"),
    ),
    Condition("plan", "load", "text", "hash of every planned request: equal plans have equal hashes"),
    # model
    Condition("model", "model", "text", "model that was served, by its common name"),
    Condition("parameters_b", "model", "number", "parameters, in billions"),
    Condition("weight_precision", "model", "text", "data types of the weights"),
    Condition("activation_precision", "model", "text", "data types of the activations"),
    Condition("kv_cache_precision", "model", "text", "data type of the KV cache"),
    Condition("accuracy_track", "model", "text", "share of the reference accuracy that is demanded, in percent"),
    Condition("accuracy", "model", "numbers", "accuracy reached"),
    Condition("accuracy_required", "model", "numbers", "accuracy demanded"),
    # system
    Condition("submitter", "system", "text", "organisation that answers for the result"),
    Condition("system", "system", "text", "name of the system as filed, usually with its accelerators"),
    Condition("platform", "system", "text", "short name under which the system was filed"),
    Condition("accelerator", "system", "text", "accelerator family"),
    Condition("accelerator_stated", "system", "text", "accelerator as the source words it"),
    Condition("accelerators", "system", "count", "accelerators in the whole system"),
    Condition("accelerators_per_node", "system", "count", "accelerators in one node"),
    Condition("nodes", "system", "count", "machines that the system is made of"),
    Condition("accelerator_memory", "system", "text", "memory of one accelerator as the source words it"),
    Condition("accelerator_interconnect", "system", "text", "link between accelerators"),
    Condition("host_processor", "system", "text", "processor of the machines that hold the accelerators"),
    Condition("host_processors_per_node", "system", "count", "host processors in one node"),
    Condition("host_memory", "system", "text", "host memory as the source words it"),
    Condition("host_network", "system", "text", "network between nodes"),
    Condition("cooling", "system", "text", "how the system is cooled"),
    Condition("power_w", "system", "number", "measured system power", "W"),
    # stack: what can change the meaning of a rate
    Condition("engine", "stack", "text", "serving framework and version"),
    Condition("software", "stack", "text", "the rest of the software stack"),
    Condition("operating_system", "stack", "text", "operating system of the machines that hold the accelerators"),
    Condition("continuous_batching", "stack", "technique", "requests join and leave the batch between steps"),
    Condition("chunked_prefill", "stack", "technique", "long prompts are split over several steps"),
    Condition("prefix_caching", "stack", "technique", "KV entries are reused between requests"),
    Condition("speculative_decoding", "stack", "technique", "several tokens are proposed and checked per step"),
    Condition("disaggregation", "stack", "technique", "prefill and decode run on different accelerators"),
    Condition("multi_model_routing", "stack", "technique", "several models answer behind one address"),
    Condition("kv_cache_quantisation", "stack", "technique", "KV entries are kept in fewer bits"),
    Condition("parallelism", "stack", "text", "how the model is split over accelerators, and how many copies run"),
    Condition("multi_node", "stack", "text", "by which means several nodes act as one system"),
    # protocol
    Condition("suite", "protocol", "text", "benchmark suite or tool family"),
    Condition("harness", "protocol", "text", "program that made the load and took the times"),
    Condition("harness_version", "protocol", "text", "version of that program"),
    Condition("api", "protocol", "text", "how requests were spoken: the dialect, and whether answers were streamed"),
    Condition("tokenizer", "protocol", "text", "tokenizer of the client: name and hash of its file"),
    Condition("client", "protocol", "text", "machine and processes that made the load"),
    Condition("round", "protocol", "text", "round of the suite; rules and limits change between rounds"),
    Condition(
        "division",
        "protocol",
        "text",
        "closed: model and data are fixed; open: they are not",
        "",
        ("closed", "open", "network"),
    ),
    Condition(
        "availability",
        "protocol",
        "text",
        "whether the system can be bought",
        "",
        ("available", "preview", "rdi"),
    ),
    Condition("system_type", "protocol", "text", "category under which the system was filed: datacenter or edge"),
    Condition(
        "review",
        "protocol",
        "text",
        "who stands behind the number",
        "",
        ("reviewed", "self-reported", "unverified", "simulated"),
    ),
    Condition("extrapolated", "protocol", "flag", "a modelled server was asked outside its validated range"),
    Condition("modelled_server", "protocol", "text", "name of the model that made a simulated run"),
    Condition(
        "model_grade",
        "protocol",
        "text",
        "what the model was made from: A own samples, B published figures, C data sheets",
        "",
        ("A", "B", "C"),
    ),
    Condition("validated_range", "protocol", "text", "range in which the model was held against what it had not seen"),
    Condition("power_run", "protocol", "flag", "the run was also a power measurement"),
    Condition("run_date", "protocol", "text", "when the run was made, as ISO 8601"),
    Condition("result_id", "protocol", "text", "identifier under which the publisher lists the result"),
    Condition("location", "protocol", "text", "where the result stands in the published tree"),
    Condition("fingerprint", "protocol", "text", "hash of the run's own log: equal for one run filed twice"),
)

BY_KEY: dict[str, Condition] = {row.key: row for row in TABLE}
