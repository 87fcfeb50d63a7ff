"""Accelerators: specifications, families and counts read from free text."""

import csv
import time

import pytest

from caveat.facts import (
    ACCELERATORS,
    accelerator_family,
    accelerator_form,
    accelerator_in,
    accelerator_named,
    accelerators_of,
    benchmark_named,
    claimed_counts,
)
from caveat.facts.accelerator_names import FAMILIES
from tests.facts.real_data import FACTS, needs_facts, needs_results, summary_rows, systems

COLUMNS = {
    "mem_gb": "memory_gb",
    "mem_gb_usable": "memory_usable_gb",
    "mem_bw_gbs": "memory_bandwidth_gb_per_s",
    "bf16_dense_tflops": "bf16_tflops",
    "fp8_dense_tflops": "fp8_tflops",
    "fp4_dense_tflops": "fp4_tflops",
    "int8_dense_tops": "int8_tops",
    "tdp_w": "tdp_w",
    "link_gbs_per_dir": "link_gb_per_s",
}
TEXT_COLUMNS = {"vendor": "vendor", "form": "form", "mem_type": "memory_type", "confidence": "confidence"}

FAMILY_OF = {
    "AMD Instinct MI355X 288GB HBM3e (x87)": "MI355X",
    "AMD Instinct MI355X 288GB HBM3e (Power Cap 1000 W)": "MI355X",
    "AMD MI300X-NPS1-SPX-192GB-750W": "MI300X",
    "AMD Instinct MI350P": "MI350P",
    "AMD Instinct MI350X": "MI350X",
    "AMD Radeon 8060S Graphics": "RADEON-8060S",
    "NVIDIA GB300": "GB300",
    "NVIDIA GB200": "GB200",
    "NVIDIA GB10": "GB10",
    "NVIDIA VR200": "VR200",
    "NVIDIA B200-SXM-180GB": "B200",
    "NVIDIA DGX B200 (8x B200‑SXM‑180GB, TensorRT)": "B200",
    "Nvidia B300-SXM-270GB": "B300",
    "NVIDIA H100-SXM-80GB": "H100",
    "NVIDIA H100-NVL-94GB": "H100",
    "NVIDIA H200-SXM-141GB-CTS": "H200",
    "Virtualized NVIDIA H200-SXM-141GB": "H200",
    "NVIDIA GH200-GraceHopper-Superchip": "GH200",
    "NVIDIA GH200 Grace Hopper Superchip 144GB": "GH200",
    "NVIDIA A100-SXM-80GB": "A100",
    "NVIDIA L4-PCIe-24GB": "L4",
    "XE7745_L4x16": "L4",
    "NVIDIA L40S": "L40S",
    "2xL40S_RHEL9": "L40S",
    "NVIDIA RTX PRO 6000 Blackwell Server Edition": "RTX-PRO-6000",
    "PowerEdge XE7745 (8x RTXPro6000-PCIe-96GB, TensorRT)": "RTX-PRO-6000",
    "XE7745_RTXPRO4500_32GBx8_TRT": "RTX-PRO-4500",
    "NVIDIA GeForce RTX 4090": "RTX-4090",
    "NVIDIA GeForce GTX 1650 Ti": "GTX-1650-TI",
    "NVIDIA RTX 4000 Ada-PCIe-20GB": "RTX-4000-ADA",
    "NVIDIA RTX-2000E-Ada-16GB": "RTX-2000E-ADA",
    "NVIDIA RTX A5000 GPU": "RTX-A5000",
    "NVIDIA Jetson AGX Thor 128G": "JETSON-THOR",
    "NVIDIA Jetson AGX Orin 64G": "JETSON-ORIN",
    "Tesla T4": "T4",
    "TPU v5e": "TPU-v5e",
    "TPU v6e": "TPU-v6e",
    "TPU v6": "TPU-v6",
    "Intel(R) Arc Pro(R) B60": "ARC-PRO-B60",
    "Intel Arc Pro B60": "ARC-PRO-B60",
    "1-node-4x-BMG-B50": "ARC-PRO-B50",
    "Intel(R) Arc(TM) Pro B70": "ARC-PRO-B70",
    "[MAXSUN] MS-Intel Arc Pro B60 Dual 48G Turbo": "ARC-PRO-B60-DUAL",
    "Intel(R) Arc(TM) 140T GPU": "ARC-140T",
    "Intel Gaudi 3": "GAUDI3",
    "UntetherAI speedAI240 Slim": "SPEEDAI240-SLIM",
    "UntetherAI speedAI240 Preview": "SPEEDAI240-PREVIEW",
    "Dynamo Neuromorphic NPU": "DYNAMO-NPU",
    "192 GB (MI300X), 256 GB (MI325X)": "MI300X+MI325X",
    "256 GB (MI325X), 192 GB (MI300X)": "MI300X+MI325X",
    "NVIDIA H200-SXM-141GB + AMD Instinct MI350X 288GB HBM3e": "H200+MI350X",
    "8xMI300X_2xEPYC_9534_8xMI325X_2xEPYC_9655_8xMI355X_2xEPYC_9965": "MI300X+MI325X+MI355X",
}

NO_FAMILY = [
    "",
    "N/A",
    "1-node-2S-GNR_86C",
    "R770_XEON6787Px2",
    "PowerEdge XE9785",
    "Quanta Grand Teton 1.5 MI350",
    "IBM Cloud gx3d-160x1792x8h200",
    "Dynamo",
    "NVIDIA L40",
    "GR200",
    "XH100X",
]

COUNTS = {
    "87xMI355X_22xEPYC_9575F": (87,),
    "94xMI355X_24xEPYC_9575F": (94,),
    "AMD Instinct MI355X 288GB HBM3e (x87)": (87,),
    "9x8xMI355X_2xEPYC_9575F": (72,),
    "8xMI325X_2xEPYC_9575F_2": (8,),
    "8XMI350x_RHEL9": (8,),
    "Cisco_UCS_16xMI350x": (16,),
    "NVIDIA GB300 NVL72 (72x GB300-288GB_aarch64, TensorRT)": (72,),
    "GB300-NVL72_GB300-288GB_aarch64x288_TRT": (288,),
    "Azure-GB200-NVL72_186GBx288": (288,),
    "B200-SXM-180GBx8_TRT": (8,),
    "SR780a_V3_B200SXMx8_TRT": (8,),
    "NVIDIA DGX B200 (8x B200‑SXM‑180GB, TensorRT)": (8,),
    "8x B200-SXM-180GB": (8,),
    "HPF HGX System (16xH100-SXM-80GB, TensorRT)": (16,),
    "DGX-H100_H100-SXM-80GBx32_TRT": (32,),
    "4x8xH100-SXM-80GB": (32,),
    "ESC4000A_E12_4XH100_TRT": (4,),
    "XE8640_4xH100_vLLM": (4,),
    "Dell PowerEdge XE8640 (1xH100-SXM-80GB, vLLM)": (1,),
    "R760xa_H100NVL_PCIe_94GBx4_TRT": (4,),
    "xd670_h200_x16_vllm_092": (16,),
    "H200-SXM-141GB-CTSx8_TRT": (8,),
    "8xH200-LLM-D-Openshift": (8,),
    "HPE ProLiant Compute XD685 (8x AMD Instinct MI355X 288GB, vLLM)": (8,),
    "PowerEdge R570 (4x L4-PCIE-24GBx4, TensorRT)": (4,),
    "Dell PowerEdge XE7740 (8x L40S, TensorRT)": (8,),
    "IBM Cloud gx3-48x240x2l40s instance,2xL40S-PCIE-48GB,vLLM 0.15.1": (2,),
    "IBM Cloud gx3d-160x1792x8h200,8xH200-SXM-141GB,RHEL 9.6": (8,),
    "C845A_M8_RTXPro6000_96GBx8_TRT": (8,),
    "HPE_PROLIANT_DL380A_RTX_PRO_6000_PCIE_96GBx10_TRT_10_11_0_33_TRT": (10,),
    "HPE ProLiant DL145 Gen11 (1x NVIDIA RTX PRO 4500 Blackwell Server Edition 32GB, TensorRT)": (1,),
    "GATE Overflow Intel Sapphire Rapids (2x RTX 4090)": (2,),
    "GATEOverflow_RTX4090x2-reference-gpu-vllm-default_config": (2,),
    "1-node-4x-BMG-Pro-B60-Dual": (4,),
    "GH200-GraceHopper-Superchip_GH200-144GB_aarch64x2_TRT": (2,),
    "MangoBoost 2x8 MI355X (16x MI355X, LLMBoost P/D Disaggregated Interactive Engine)": (16,),
    "Crusoe Cloud 64x8 MI355X (512 GPU) — gpt-oss-120b / vLLM": (512,),
    "H200-1xGPU": (1,),
    "16xMI325X_8xMI300X_2xEPYC_9575F": (24,),
    "2x8xMI355X_2x8xMI300X": (32,),
    "AMD Instinct MI300X 192GB HBM3 (x2x8) and AMD Instinct MI355X 288GB HBM3e (x2x8)": (32,),
    "Cisco UCS H200 x8 + MI350X x8 G200 2x2 TOR": (16,),
    "Cisco_UCS_H200x8_MI350Xx8_G200_2x2_TOR": (16,),
    "8x H100-SXM-80GB, formerly 4x H100": (4, 8),
}

NO_COUNTS = [
    "",
    "AMD MI355X Custom Cluster",
    "AMD Instinct MI355X 288GB HBM3e",
    "AMD Instinct MI355X 288GB HBM3e (Power Cap 1000 W)",
    "192 GB (MI300X), 256 GB (MI325X)",
    "2xEPYC_9575F",
    "22xEPYC_9575F",
    "MI355X_2xEPYC_9575F",
    "R770_XEON6787Px2",
    "PowerEdge R770AP_128C 24x96GB (6400 MT/s)",
    "XE9712x18",
    "NVIDIA GB200 NVL72",
    "GB300-NVL8-CoreWeave_TRT",
    "GB200-NVL4_186GB_Openshift_VLLM",
    "ND_GB200_v6",
    "BM.GPU.MI355X.8",
    "IBM Cloud gx3d-160x1792x8h200",
    "b200_6x",
    "h200_n1-vllm",
    "XE9780_B200_x86_TRT",
    "NVIDIA RTX A5000 GPU",
    "NVIDIA Jetson AGX Thor Developer Kit 128G (TensorRT)",
    "2x4x8xH100",
    "0x H100",
    "4x H100-SXM-80GB + 4x H100-PCIe-80GB",
    "MI300X x8 and MI325X",
]


def number(text):
    return float(text) if text else None


@needs_facts
def test_all_figures_are_those_of_the_reference_table():
    """Every column of every row, an empty cell as None."""
    with (FACTS / "accelerators.csv").open(newline="") as lines:
        rows = {row["accelerator"]: row for row in csv.DictReader(lines)}
    assert list(rows) == [one.name for one in ACCELERATORS]
    for one in ACCELERATORS:
        for column, field in COLUMNS.items():
            assert number(rows[one.name][column]) == getattr(one, field), (one.id, field)
        for column, field in TEXT_COLUMNS.items():
            assert rows[one.name][column] == getattr(one, field), (one.id, field)


@pytest.mark.parametrize("one", ACCELERATORS, ids=lambda one: one.id)
def test_a_row_is_sourced_and_of_a_known_family(one):
    """Ids are unique, and lower precision is not slower."""
    assert [other.id for other in ACCELERATORS].count(one.id) == 1
    assert one.family in dict(FAMILIES)
    assert accelerator_family(one.name) == one.family
    assert one.source
    rates = [rate for rate in (one.bf16_tflops, one.fp8_tflops, one.fp4_tflops) if rate is not None]
    assert rates == sorted(rates)
    assert one.memory_usable_gb is None or one.memory_gb is None or one.memory_usable_gb <= one.memory_gb


def test_unknown_is_none_and_never_zero():
    """A TPU's power is not published; an A100 has no FP8."""
    tpu, a100 = accelerator_named("tpu-v5e"), accelerator_named("A100-SXM4-80GB")
    assert tpu is not None
    assert tpu.tdp_w is None
    assert a100 is not None
    assert a100.fp8_tflops is None
    assert not any(0 in (one.tdp_w, one.fp4_tflops, one.link_gb_per_s) for one in ACCELERATORS)


def test_a_family_of_several_forms_is_no_single_accelerator():
    """H100 is at least two parts with different bandwidth."""
    assert accelerator_named("H100") is None
    assert [one.id for one in accelerators_of("H100")] == ["H100-SXM", "H100-PCIe"]
    assert accelerators_of("MI350X") == ()


@pytest.mark.parametrize(
    ("text", "accelerator_id"),
    [
        ("NVIDIA H200-SXM-141GB", "H200-SXM"),
        ("NVIDIA H200-NVL-141GB", None),
        ("R760xa_H100NVL_PCIe_94GBx4_TRT", None),
        ("NVIDIA H100-PCIe-80GB", "H100-PCIe"),
        ("Lambda H200", None),
        ("AMD Instinct MI355X 288GB HBM3e (x87)", "MI355X"),
        ("NVIDIA GB200 NVL72", "GB200"),
        ("NVIDIA RTX PRO 6000 Blackwell Server Edition", "RTX-PRO-6000-Server"),
        ("NVIDIA RTX PRO 6000 Blackwell", None),
        ("8x MI300X, 8x MI325X", None),
        ("TPU v6", None),
        ("N/A", None),
    ],
)
def test_specifications_are_lent_only_to_the_form_they_belong_to(text, accelerator_id):
    """A text that leaves the form open gets none."""
    found = accelerator_in(text)
    assert (found.id if found else None) == accelerator_id


@pytest.mark.parametrize(("text", "family"), FAMILY_OF.items())
def test_a_family_is_read_from_free_text(text, family):
    """Real names of system descriptions."""
    assert accelerator_family(text) == family


@pytest.mark.parametrize("text", NO_FAMILY)
def test_what_is_not_recognised_is_none(text):
    """A part of a longer word is no family."""
    assert accelerator_family(text) is None


def test_every_family_is_tried_above():
    """No pattern goes without a name."""
    tried = {name for family in FAMILY_OF.values() for name in family.split("+")}
    assert {name for name, _ in FAMILIES} == tried


@pytest.mark.parametrize(("text", "counts"), COUNTS.items())
def test_a_claimed_count_is_read_from_free_text(text, counts):
    """Products are multiplied, parts of several families added."""
    assert claimed_counts(text) == counts


@pytest.mark.parametrize("text", NO_COUNTS)
def test_what_is_not_a_count_of_accelerators_is_not_read(text):
    """Memory, processors, racks, instances, and sums that are not stated."""
    assert claimed_counts(text) == ()


@pytest.mark.parametrize("text", ["8x" * 5000, "RTX " * 5000, "8x" + " " * 20000, "H100" + "-SXM" * 5000, "1" * 20000])
def test_hostile_texts_take_no_time(text):
    """Files come from strangers."""
    start = time.perf_counter()
    accelerator_family(text)
    claimed_counts(text)
    assert time.perf_counter() - start < 2


@needs_results
def test_every_accelerator_text_of_published_language_rows_is_recognised():
    """Only rows without an accelerator have no family."""
    texts = {row["Accelerator"] for row in summary_rows() if benchmark_named(row["Model"])}
    assert {text for text in texts if accelerator_family(text) is None} == {"", "N/A"}


@needs_results
def test_every_accelerator_text_of_system_files_is_recognised():
    """Also those of other benchmarks and older rounds."""
    texts = {system.get("accelerator_model_name", "") for system in systems()}
    assert {text for text in texts if accelerator_family(text) is None} <= {"", "N/A"}


@needs_results
def test_claims_of_real_texts_disagree_with_the_counts_only_where_the_data_do():
    """System, platform and accelerator columns against nodes times accelerators per node."""
    disagreements = set()
    agreeing = 0
    for row in summary_rows():
        if not benchmark_named(row["Model"]) or not (row["Nodes"].isdigit() and row["a#"].isdigit()):
            continue
        total = int(row["Nodes"]) * int(row["a#"])
        for text in (row["System"], row["Platform"], row["Accelerator"]):
            counts = claimed_counts(text)
            if counts == (total,):
                agreeing += 1
            elif counts:
                disagreements.add((text, counts, total))
    assert agreeing > 1000
    assert disagreements == {
        ("87xMI355X_22xEPYC_9575F", (87,), 88),
        ("AMD Instinct MI355X 288GB HBM3e (x87)", (87,), 88),
        ("94xMI355X_24xEPYC_9575F", (94,), 96),
        ("AMD Instinct MI355X 288GB HBM3e (x94)", (94,), 96),
        ("XE8640_4xH100_vLLM", (4,), 1),
        ("NVIDIA GB300 NVL72 (72x GB300-288GB_aarch64, TensorRT)", (72,), 288),
        ("Nebius GB300 NVL72 (4x GB300-288GB_aarch64, TensorRT)", (4,), 1),
        ("Nebius GB300 NVL72 (4x GB300-288GB_aarch64, TensorRT)", (4,), 8),
        ("HPE Compute XD690 (8x NVIDIA B300-SXM-270GB, TensorRT)", (8,), 16),
    }


@pytest.mark.parametrize(
    ("family", "stated", "form"),
    [
        ("H100", "NVIDIA H100-SXM5-80GB", "H100-SXM"),
        ("H100", "NVIDIA H100-PCIe-80GB", "H100-PCIe"),
        ("H100", "NVIDIA H100-NVL-94GB", "H100-NVL"),
        ("H100", "NVIDIA  H100 CNX", "NVIDIA H100 CNX"),
        ("H100", None, "H100"),
        ("MI355X", "AMD Instinct MI355X 288GB HBM3e", "MI355X"),
        ("H200+MI350X", "NVIDIA H200-SXM-141GB + AMD Instinct MI350X", "H200+MI350X"),
    ],
)
def test_a_family_sold_in_several_forms_is_named_by_its_form(family, stated, form):
    """SXM, PCIe and NVL parts of one family are several kinds; a family of one form keeps its name."""
    assert accelerator_form(family, stated) == form
