// The canvas: draws the scene when something has changed, once per frame of the screen.

import { CanvasPainter } from "../drawing/canvas_painter.ts";
import { DARK, LIGHT } from "../drawing/theme.ts";
import type { Theme } from "../drawing/theme.ts";
import { drawScene } from "../drawing/walker.ts";
import { decorator } from "./decorations.ts";
import { element } from "./dom.ts";
import { drawRegions } from "./regions.ts";
import { boxAt, boxWithKey } from "./hit.ts";
import type { PlacedBox } from "./hit.ts";
import { Minimap } from "./minimap.ts";
import { listenToPointers, ViewTransform } from "./view_transform.ts";
import type { Viewer } from "./viewer.ts";

export class Stage {
  readonly canvas = element("canvas", { class: "stage", label: "Picture of the graph; the outline has the same as text" });
  readonly transform = new ViewTransform();
  readonly minimap: Minimap;
  theme: Theme = LIGHT;
  drawn = 0; // frames drawn so far
  private waiting = false;
  private shownGraph = "";
  private readonly pending = { anchor: null as { key: string; x: number; y: number } | null };

  constructor(private readonly viewer: Viewer) {
    this.canvas.tabIndex = 0;
    this.minimap = new Minimap(this);
    listenToPointers(this.canvas, this.transform, {
      redraw: () => { this.redraw(); },
      press: (px, py, event) => { this.press(px, py, event); },
      hover: (px, py) => { this.canvas.classList.toggle("on-box", this.boxAt(px, py) !== null); },
      open: (px, py) => {
        const hit = this.boxAt(px, py);
        if (hit?.box.canOpen && !this.isSign(hit, px, py)) void this.toggle(hit.box.key);
      },
    });
    viewer.listen("scene", () => { this.receive(); });
    for (const event of ["selection", "marks"] as const) viewer.listen(event, () => { this.redraw(); });
    viewer.listen("look", () => { this.showSelection(); });
    new ResizeObserver(() => { this.redraw(); }).observe(this.canvas);
  }

  get scene(): Viewer["scene"] { return this.viewer.scene; }

  setDark(dark: boolean): void {
    this.theme = dark ? DARK : LIGHT;
    this.redraw();
  }

  redraw(): void {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.draw();
    });
  }

  /** Opens or closes a box; what was under the pointer stays there. */
  async toggle(key: string): Promise<void> {
    const scene = this.scene;
    const hit = scene && boxWithKey(scene, key);
    if (hit) {
      const { scale, x, y } = this.transform;
      this.pending.anchor = { key, x: x + (hit.x + hit.box.width / 2) * scale, y: y + hit.y * scale };
    }
    await this.viewer.toggle(key);
  }

  fit(whole = false): void {
    if (!this.scene) return;
    this.transform.fit(this.canvas.clientWidth, this.canvas.clientHeight, this.scene.width, this.scene.height, whole ? 0 : undefined);
    this.redraw();
  }

  showSelection(): void {
    const { selection } = this.viewer;
    const hit = selection && this.scene ? boxWithKey(this.scene, this.viewer.boxKey(selection)) : null;
    if (!hit) return;
    if (this.transform.scale < 0.5) this.transform.scale = 0.8;
    const height = Math.min(hit.box.height, (0.8 * this.canvas.clientHeight) / this.transform.scale);
    this.transform.centre(hit.x + hit.box.width / 2, hit.y + height / 2, this.canvas.clientWidth, this.canvas.clientHeight);
    this.redraw();
  }

  private receive(): void {
    const scene = this.scene!;
    const { anchor } = this.pending;
    const hit = anchor && boxWithKey(scene, anchor.key);
    const shown = `${this.viewer.face.label}:${this.viewer.graph}`;
    if (shown !== this.shownGraph) this.fit();
    else if (anchor && hit) {
      this.transform.x = anchor.x - (hit.x + hit.box.width / 2) * this.transform.scale;
      this.transform.y = anchor.y - hit.y * this.transform.scale;
    }
    this.shownGraph = shown;
    this.pending.anchor = null;
    this.minimap.forget();
    this.redraw();
  }

  private boxAt(px: number, py: number): PlacedBox | null {
    return this.scene && boxAt(this.scene, ...this.transform.toScene(px, py));
  }

  /** Whether a point is on the title of an open box, or on the sign of a closed one. */
  private isSign({ box, x, y }: PlacedBox, px: number, py: number): boolean {
    const [sx, sy] = this.transform.toScene(px, py);
    return box.canOpen && sy < y + 24 && sx < x + 24;
  }

  private press(px: number, py: number, event: PointerEvent): void {
    this.canvas.focus({ preventScroll: true });
    const hit = this.boxAt(px, py);
    if (!hit) {
      this.viewer.select(null);
      return;
    }
    this.viewer.selectBox(hit.box, hit.frame.instance);
    if (this.isSign(hit, px, py) || (hit.box.canOpen && event.altKey)) void this.toggle(hit.box.key);
  }

  private draw(): void {
    const { canvas, transform, theme } = this;
    const ratio = window.devicePixelRatio || 1;
    const [width, height] = [canvas.clientWidth, canvas.clientHeight];
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
    }
    const context = canvas.getContext("2d", { alpha: false })!;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.fillStyle = theme.background;
    context.fillRect(0, 0, canvas.width, canvas.height);
    if (this.scene) {
      context.setTransform(transform.scale * ratio, 0, 0, transform.scale * ratio, transform.x * ratio, transform.y * ratio);
      const [left, top] = transform.toScene(0, 0);
      const [right, bottom] = transform.toScene(width, height);
      const painter = new CanvasPainter(context);
      const look = { theme, zoom: transform.scale, origin: [0, 0] as [number, number], view: { left, top, right, bottom }, decorate: decorator(this.viewer, theme), isLit: this.viewer.isLit.bind(this.viewer) };
      drawScene(painter, this.scene, look);
      drawRegions(painter, this.viewer, look);
    }
    this.minimap.draw();
    this.drawn++;
  }
}
