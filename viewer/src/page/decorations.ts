// How boxes look in the modes of the page: times and errors as heat, engines, changes, findings, selection and paths.

import { decorateError, heat } from "../drawing/heat.ts";
import type { Badge, Decoration } from "../drawing/walker.ts";
import type { Theme } from "../drawing/theme.ts";
import { worst } from "../model/annotations.ts";
import type { RunFacts } from "../model/annotations.ts";
import type { Finding } from "../page_data.ts";
import type { Box } from "../scene/scene.ts";
import type { Viewer } from "./viewer.ts";

export function decorator(viewer: Viewer, theme: Theme): (box: Box) => Decoration | null {
  const selected = viewer.selection ? viewer.boxKey(viewer.selection) : "";
  return (box) => {
    const { kind, id } = box.item;
    if (kind !== "node" && kind !== "scope") return box.key === selected ? { outline: theme.selection } : null;
    const { annotations } = viewer.face;
    const graph = box.graph.index;
    const findings = kind === "node" ? annotations.findingsOf(graph, id) : annotations.findingsIn(graph, id);
    const run = kind === "node" ? annotations.runOf(graph, id) : annotations.runIn(graph, id);
    const change = kind === "node" ? annotations.changeOf(graph, id) : annotations.changeIn(graph, id);
    const decoration: Decoration = {};
    const error = kind === "node" ? annotations.errorOf(graph, id) : annotations.errorIn(graph, id);
    if (viewer.mode === "error") Object.assign(decoration, error ? decorateError(error, annotations.largestShare, theme) : { tint: theme.mutedBox });
    else if (run && viewer.mode !== "structure") decorateRun(decoration, viewer, run, theme);
    if (change) decoration.tint = theme.changes[change];
    else if (viewer.face.changes) decoration.tint = theme.mutedBox;
    if (findings.length) (decoration.badges ??= []).push(findingBadge(findings, theme));
    if (viewer.litNodes.has(box.key)) decoration.outline = theme.highlight;
    if (box.key === selected) decoration.outline = theme.selection;
    return Object.keys(decoration).length ? decoration : null;
  };
}

function decorateRun(decoration: Decoration, viewer: Viewer, run: RunFacts, theme: Theme): void {
  const { totalSeconds, slowest } = viewer.face.annotations;
  if (viewer.mode === "engine") decoration.tint = run.native >= run.seconds * 0.5 ? theme.changes.added : theme.changes.changed;
  else decoration.tint = heat(Math.min(1, run.seconds / (slowest || 1)), theme);
  const [time, share] = [formatSeconds(run.seconds), (100 * run.seconds) / (totalSeconds || 1)];
  decoration.badges = [{ text: share < 0.05 ? time : `${time} · ${share.toFixed(1)} %`, short: time, color: theme.text }];
}

function findingBadge(findings: Finding[], theme: Theme): Badge {
  const first = findings[0]!;
  return { text: findings.length === 1 ? first.code : `${findings.length} findings`, short: findings.length === 1 ? first.code : String(findings.length), color: theme.severities[worst(findings) ?? "note"] };
}

export function formatSeconds(seconds: number): string {
  if (seconds >= 1) return `${seconds.toFixed(2)} s`;
  if (seconds >= 1e-3) return `${(seconds * 1e3).toFixed(2)} ms`;
  return seconds >= 1e-7 ? `${(seconds * 1e6).toFixed(1)} µs` : `${(seconds * 1e9).toFixed(0)} ns`;
}

export function formatBytes(bytes: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  for (; bytes >= 1024 && unit < units.length - 1; unit++) bytes /= 1024;
  return `${unit ? bytes.toFixed(1) : bytes} ${units[unit]!}`;
}
