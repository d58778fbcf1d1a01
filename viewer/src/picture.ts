// Pictures of a page's data as SVG text: no browser, no other thread.

import { SvgPainter } from "./drawing/svg_painter.ts";
import { DARK, LIGHT } from "./drawing/theme.ts";
import { drawScene, labelsFor } from "./drawing/walker.ts";
import { layOut } from "./layout/layered.ts";
import { DocumentView } from "./model/graph_view.ts";
import type { PageData } from "./page_data.ts";
import { runSteps, SceneBuilder } from "./scene/scene.ts";

export interface PictureOptions {
  dark?: boolean;
  document?: number;
  graph?: number;
  open?: string[]; // keys of boxes to open
  scale?: number;
  background?: boolean;
}

const MARGIN = 16;

export function picture(pageDataJson: string, options: PictureOptions = {}): string {
  const page = JSON.parse(pageDataJson) as PageData;
  const theme = options.dark ? DARK : LIGHT;
  const document = new DocumentView(page.documents[options.document ?? page.documents.length - 1]!);
  const painter = new SvgPainter();
  const background = options.background === false ? "" : theme.background;
  if (!document.data.graphs.length) return painter.finish(2 * MARGIN, 2 * MARGIN, 1, background, page.title);
  const scene = runSteps(new SceneBuilder(document, new Set(options.open ?? [])).build(options.graph ?? 0), layOut);
  drawScene(painter, scene, { theme, zoom: 1, view: null, decorate: () => null, isLit: () => false, origin: [MARGIN, MARGIN] });
  const right = [...labelsFor(scene, true).values()].reduce((most, label) => Math.max(most, label.x + label.width), scene.width);
  return painter.finish(right + 2 * MARGIN, scene.height + 2 * MARGIN, options.scale ?? 1, background, page.title);
}
