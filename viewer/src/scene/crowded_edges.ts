// What becomes of edges that are many: values between the same two boxes are one line, and values that would pass many layers are
// shown by name at both ends.

import type { FrameNet } from "./frame.ts";

/** Values that go from one item to others; `value` is that of the frame's net, or the first of a bundle. */
export interface Bundle extends FrameNet {
  values: number[];
}

const BUNDLED = 3; // values between the same two boxes that become one line
const LONG = 8; // layers that a long edge passes
const MANY = 8; // long edges that are shown by name

/** The nets, with the edges between two boxes joined where they are at least three; edges of open boxes go on inside and stay. */
export function bundleNets(nets: FrameNet[], isOpen: (item: number) => boolean): Bundle[] {
  const pairs = new Map<string, Bundle>();
  const keyOf = (source: number, target: number): string => `${source}:${target}`;
  for (const { value, source, targets, isBack } of nets) {
    for (const target of targets) {
      if (isBack || isOpen(source) || isOpen(target)) continue;
      const pair = pairs.get(keyOf(source, target));
      if (pair) pair.values.push(value);
      else pairs.set(keyOf(source, target), { value, values: [value], source, targets: [target] });
    }
  }
  const isBundled = (source: number, target: number): boolean => (pairs.get(keyOf(source, target))?.values.length ?? 0) >= BUNDLED;
  const single = nets.flatMap((net) => {
    const rest = net.targets.filter((target) => net.isBack === true || !isBundled(net.source, target));
    return rest.length ? [{ ...net, values: [net.value], targets: rest }] : [];
  });
  return [...single, ...[...pairs.values()].filter((pair) => pair.values.length >= BUNDLED)];
}

/** The nets without their long edges, and those by themselves, if they are many. */
export function separateLong(nets: FrameNet[], items: number): { near: FrameNet[]; far: FrameNet[] } {
  const ranks = findRanks(nets, items);
  const isLong = (net: FrameNet, target: number): boolean => ranks[target]! - ranks[net.source]! > LONG;
  const count = nets.reduce((sum, net) => sum + net.targets.filter((target) => isLong(net, target)).length, 0);
  if (count < MANY) return { near: nets, far: [] };
  const select = (wanted: boolean): FrameNet[] =>
    nets.map((net) => ({ ...net, targets: net.targets.filter((target) => isLong(net, target) === wanted) })).filter((net) => net.targets.length);
  return { near: select(false), far: select(true) };
}

/** The length of the longest path to each item; 0 for those on cycles. */
function findRanks(nets: FrameNet[], items: number): Int32Array {
  const after: number[][] = Array.from({ length: items }, () => []);
  const missing = new Int32Array(items);
  for (const { source, targets } of nets) {
    for (const target of targets) {
      after[source]!.push(target);
      missing[target]!++;
    }
  }
  const ranks = new Int32Array(items);
  const order = [...missing.keys()].filter((item) => !missing[item]);
  for (let i = 0; i < order.length; i++) {
    for (const next of after[order[i]!]!) {
      ranks[next] = Math.max(ranks[next]!, ranks[order[i]!]! + 1);
      if (--missing[next]! === 0) order.push(next);
    }
  }
  for (let item = 0; item < items; item++) if (missing[item]) ranks[item] = 0;
  return ranks;
}
