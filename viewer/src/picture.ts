// Pictures of a page's data as SVG text: no browser, no other thread.

import { decorateError, drawLegend, LEGEND } from "./drawing/heat.ts";
import { SvgPainter } from "./drawing/svg_painter.ts";
import { DARK, LIGHT } from "./drawing/theme.ts";
import type { Theme } from "./drawing/theme.ts";
import { drawScene, labelsFor } from "./drawing/walker.ts";
import type { Decoration } from "./drawing/walker.ts";
import { layOut } from "./layout/layered.ts";
import { Annotations, shareTitle } from "./model/annotations.ts";
import { DocumentView } from "./model/graph_view.ts";
import type { PageData } from "./page_data.ts";
import { runSteps, SceneBuilder } from "./scene/scene.ts";
import type { Box } from "./scene/scene.ts";

export interface PictureOptions {
  dark?: boolean;
  document?: number;
  graph?: number;
  open?: string[]; // keys of boxes to open
  scale?: number;
  background?: boolean;
}

const MARGIN = 16;

/** Boxes without a quantized layer are muted. */
function errorDecorator(annotations: Annotations, theme: Theme): (box: Box) => Decoration | null {
  return ({ item, graph }) => {
    if (item.kind !== "node" && item.kind !== "scope") return null;
    const facts = item.kind === "node" ? annotations.errorOf(graph.index, item.id) : annotations.errorIn(graph.index, item.id);
    return facts ? decorateError(facts, annotations.largestShare, theme) : { tint: theme.mutedBox };
  };
}

export function picture(pageDataJson: string, options: PictureOptions = {}): string {
  const page = JSON.parse(pageDataJson) as PageData;
  const theme = options.dark ? DARK : LIGHT;
  const document = new DocumentView(page.documents[options.document ?? page.documents.length - 1]!);
  const painter = new SvgPainter();
  const background = options.background === false ? "" : theme.background;
  if (!document.data.graphs.length) return painter.finish(2 * MARGIN, 2 * MARGIN, 1, background, page.title);
  const annotations = new Annotations(document, null);
  const scene = runSteps(new SceneBuilder(document, new Set(options.open ?? [])).build(options.graph ?? 0), layOut);
  const { quantization } = document.data;
  const decorate = quantization ? errorDecorator(annotations, theme) : (): null => null;
  drawScene(painter, scene, { theme, zoom: 1, view: null, decorate, isLit: () => false, origin: [MARGIN, MARGIN] });
  let right = [...labelsFor(scene, true).values()].reduce((most, label) => Math.max(most, label.x + label.width), scene.width);
  let bottom = scene.height + 2 * MARGIN;
  if (quantization) {
    right = Math.max(right, drawLegend(painter, MARGIN, bottom, shareTitle(quantization), annotations.largestShare, theme));
    bottom += LEGEND.height + MARGIN;
  }
  return painter.finish(right + 2 * MARGIN, bottom, options.scale ?? 1, background, page.title);
}
