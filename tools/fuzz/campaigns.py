"""The campaigns: numbered cases of one kind, how many are to run, and what judges them.

Generators are imported when a campaign is prepared, before any process is forked.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field

from fuzz import paths as paths  # makes the folders below importable
from fuzz.workers import Judge, WorkerLimits


@dataclass(frozen=True)
class Campaign:
    """title: what a case is, for the page.  goal: the number of cases of a full campaign.  batch: cases of a process."""

    name: str
    title: str
    goal: int
    prepare: Callable[[], Judge]
    batch: int = 200
    limits: WorkerLimits = field(default_factory=WorkerLimits)


def prepare_bytes() -> Judge:
    from fuzz.bytes_mutants import byte_judge
    from fuzz.seeds import all_subjects

    return byte_judge([subject for subject in all_subjects() if len(subject.model) < 1500])


def prepare_documents() -> Judge:
    from fuzz.bytes_mutants import document_judge

    return document_judge()


def prepare_structure() -> Judge:
    from fuzz.mutant_cases import mutant_judge, structure_mutants
    from fuzz.seeds import all_subjects

    return mutant_judge(structure_mutants(all_subjects()))


def prepare_attributes() -> Judge:
    from fuzz.mutant_cases import attribute_mutants, mutant_judge
    from fuzz.seeds import operator_subjects

    return mutant_judge(attribute_mutants([*operator_subjects()]))


def prepare_extremes() -> Judge:
    from fuzz.attribute_extremes import extreme_attributes, extreme_judge

    return extreme_judge([*extreme_attributes()])


def prepare_feeds() -> Judge:
    from fuzz.mutant_cases import feed_judge
    from fuzz.seeds import all_subjects

    return feed_judge(all_subjects())


def prepare_mismatched_sizes() -> Judge:
    from fuzz.seeds import operator_subjects
    from fuzz.size_mutants import size_judge

    return size_judge([*operator_subjects()])


def prepare_graphs() -> Judge:
    from fuzz.graph_cases import graph_judge

    return graph_judge()


def prepare_guarded_graphs() -> Judge:
    from fuzz.graph_cases import guarded_graph_judge

    return guarded_graph_judge()


def prepare_unkind_graphs() -> Judge:
    from fuzz.unkind_cases import unkind_judge

    return unkind_judge()


def prepare_unkind_gradients() -> Judge:
    from fuzz.unkind_cases import unkind_gradient_judge

    return unkind_gradient_judge()


def prepare_quantized() -> Judge:
    from fuzz.quantized_cases import quantized_judge

    return quantized_judge()


def prepare_structure_in_onnxruntime() -> Judge:
    from fuzz.mutant_cases import structure_mutants
    from fuzz.peer import peer_judge
    from fuzz.seeds import all_subjects

    return peer_judge(structure_mutants(all_subjects()))


def prepare_attributes_in_onnxruntime() -> Judge:
    from fuzz.mutant_cases import attribute_mutants
    from fuzz.peer import peer_judge
    from fuzz.seeds import operator_subjects

    return peer_judge(attribute_mutants([*operator_subjects()]))


CAMPAIGNS = {
    campaign.name: campaign
    for campaign in (
        Campaign(
            "bytes", "damaged bytes of models and documents: load, check, infer", 1_000_000, prepare_bytes, batch=5000
        ),
        Campaign(
            "documents", "damaged fields of documents: check, with and without its cache", 100_000, prepare_documents, batch=1000
        ),
        Campaign("structure", "changed graphs: both engines", 60_000, prepare_structure),
        Campaign("attributes", "changed attributes: both engines", 40_000, prepare_attributes),
        Campaign(
            "extremes", "extreme integers in attributes: both engines, checked accesses", 14_100, prepare_extremes, batch=100
        ),
        Campaign("feeds", "changed feeds: both engines", 20_000, prepare_feeds),
        Campaign(
            "mismatched-sizes", "open dims, feeds of other sizes: both engines, checked accesses", 40_000, prepare_mismatched_sizes
        ),
        Campaign("graphs", "random graphs: both engines", 10_000, prepare_graphs, batch=50),
        Campaign(
            "guarded-graphs", "random graphs: guard pages and checked accesses", 1_000, prepare_guarded_graphs, batch=20
        ),
        Campaign(
            "unkind-graphs", "random graphs in sizes that are not kind: both engines, run by run", 100_000, prepare_unkind_graphs
        ),
        Campaign(
            "unkind-gradients", "gradients of such graphs: both engines, and central differences", 10_000, prepare_unkind_gradients
        ),
        Campaign(
            "quantized", "random graphs through each scheme of quantize: reports, onnxruntime", 5_000, prepare_quantized, batch=50
        ),
        Campaign(
            "structure-onnxruntime", "changed graphs: onnxruntime", 10_000, prepare_structure_in_onnxruntime
        ),
        Campaign(
            "attributes-onnxruntime", "changed attributes: onnxruntime", 10_000, prepare_attributes_in_onnxruntime
        ),
    )
}  # fmt: skip


def prepare(campaign: Campaign) -> Judge:
    """The judge of a campaign."""
    warnings.simplefilter("ignore")  # generators compute with overflows
    return campaign.prepare()
