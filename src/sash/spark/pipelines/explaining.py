"""A pipeline as text: its stages with their buckets and keys, then each query's plan with its exchanges."""

from __future__ import annotations

__all__ = ["explain_pipeline"]

from sash.plan.explain import explain
from sash.plan.nodes import Exchange, Node
from sash.plan.wording import counted, phrase
from sash.spark.pipelines.pipeline import Pipeline, Stage
from sash.spark.pipelines.placement import stage_of
from sash.spark.pipelines.sharing import source_of


def explain_pipeline(pipeline: Pipeline) -> str:
    """Stages first, then the plans; the notes say in which stage an exchange's rows go on."""
    lines = [_stage(stage, pipeline) for stage in pipeline.stages]
    for name, plan in pipeline.queries.items():
        notes: dict[Node, str] = {
            node: f"to stage {stage_of(node)}" for node in plan.walk() if isinstance(node, Exchange)
        }
        lines += ["", f"{name}:", explain(plan, notes=notes)]
    return "\n".join(lines)


def _stage(stage: Stage, pipeline: Pipeline) -> str:
    flows = ", ".join(_flow(flow) for flow in stage.flows.values())
    used = pipeline.buckets if any(flow.keys != () for flow in stage.flows.values()) else 1
    first = next(leg[0].number for leg in pipeline.legs if stage in leg)
    where = f"the tasks of stage {first}"
    if first == stage.number:
        where = counted(min(used, pipeline.partitions), "partition")
    return f"stage {stage.number}: {counted(used, 'bucket')} in {where}: {flows}"


def _flow(flow: Exchange) -> str:
    source = source_of(flow.input)
    what = source.name if source is not None else "results of the stage before"
    if flow.keys is None:
        return f"{what} anywhere"
    return f"{what} by {', '.join(map(phrase, flow.keys))}" if flow.keys else f"{what} in one bucket"
