// The whole scene in a corner, with the part that the canvas shows; pressing or dragging moves there.

import { element } from "./dom.ts";
import type { Stage } from "./stage.ts";

const WIDTH = 160;
const HEIGHT = 130;

export class Minimap {
  readonly canvas = element("canvas", { class: "minimap" });
  private picture: HTMLCanvasElement | null = null;
  private background = "";

  constructor(private readonly stage: Stage) {
    this.canvas.setAttribute("aria-hidden", "true");
    const go = (event: PointerEvent): void => {
      if (!event.buttons || !stage.scene) return;
      const scale = this.scale();
      stage.transform.centre(event.offsetX / scale, event.offsetY / scale, stage.canvas.clientWidth, stage.canvas.clientHeight);
      stage.redraw();
    };
    this.canvas.addEventListener("pointerdown", go);
    this.canvas.addEventListener("pointermove", go);
  }

  forget(): void {
    this.picture = null;
  }

  private scale(): number {
    const { width, height } = this.stage.scene!;
    return Math.min(WIDTH / width, HEIGHT / height, 0.2);
  }

  draw(): void {
    const { scene, transform, theme, canvas: main } = this.stage;
    const visible = scene && (scene.width * transform.scale > main.clientWidth * 1.05 || scene.height * transform.scale > main.clientHeight * 1.05);
    this.canvas.classList.toggle("hidden", !visible);
    if (!visible) return;
    const scale = this.scale();
    if (!this.picture || this.background !== theme.background) this.picture = this.render(scale);
    if (this.canvas.width !== this.picture.width || this.canvas.height !== this.picture.height) {
      this.canvas.width = this.picture.width;
      this.canvas.height = this.picture.height;
    }
    const context = this.canvas.getContext("2d")!;
    context.drawImage(this.picture, 0, 0);
    const [left, top] = transform.toScene(0, 0);
    context.strokeStyle = theme.selection;
    context.lineWidth = 1.5;
    const [x0, y0] = [Math.max(1, left * scale), Math.max(1, top * scale)];
    const x1 = Math.min(this.picture.width - 1, (left + main.clientWidth / transform.scale) * scale);
    const y1 = Math.min(this.picture.height - 1, (top + main.clientHeight / transform.scale) * scale);
    context.strokeRect(x0, y0, x1 - x0, y1 - y0);
  }

  private render(scale: number): HTMLCanvasElement {
    const { scene, theme } = this.stage;
    const picture = document.createElement("canvas");
    picture.width = Math.max(8, Math.ceil(scene!.width * scale));
    picture.height = Math.max(8, Math.ceil(scene!.height * scale));
    const context = picture.getContext("2d")!;
    context.fillStyle = this.background = theme.background;
    context.fillRect(0, 0, picture.width, picture.height);
    for (const box of scene!.boxes) {
      context.fillStyle = box.item.kind === "node" ? theme.families[box.card.family] : theme.scopeBorder;
      context.fillRect(box.x * scale, box.y * scale, Math.max(1, box.width * scale), Math.max(1, box.height * scale));
    }
    return picture;
  }
}
