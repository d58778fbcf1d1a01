// The part of the scene that the canvas shows: scale and offset, changed by wheel, drag, two fingers and keys.

export class ViewTransform {
  scale = 1;
  x = 0; // of the scene's origin on the canvas
  y = 0;

  toScene(px: number, py: number): [number, number] {
    return [(px - this.x) / this.scale, (py - this.y) / this.scale];
  }

  zoomAt(px: number, py: number, factor: number): void {
    const scale = Math.min(4, Math.max(0.002, this.scale * factor));
    this.x = px - ((px - this.x) * scale) / this.scale;
    this.y = py - ((py - this.y) * scale) / this.scale;
    this.scale = scale;
  }

  move(dx: number, dy: number): void {
    this.x += dx;
    this.y += dy;
  }

  /** Shows the whole scene, or its beginning at a size that can be read. */
  fit(width: number, height: number, sceneWidth: number, sceneHeight: number, smallest = 0.55): void {
    const margin = 24;
    const whole = Math.min((width - 2 * margin) / sceneWidth, (height - 2 * margin) / sceneHeight);
    const across = (width - 2 * margin) / sceneWidth;
    this.scale = Math.min(1.25, Math.max(whole, Math.min(smallest, across), 0.002));
    this.x = (width - sceneWidth * this.scale) / 2;
    this.y = sceneHeight * this.scale > height ? margin : Math.max(margin, (height - sceneHeight * this.scale) / 2);
  }

  centre(px: number, py: number, width: number, height: number): void {
    this.x = width / 2 - px * this.scale;
    this.y = height / 2 - py * this.scale;
  }
}

export interface PointerActions {
  redraw(): void;
  press(px: number, py: number, event: PointerEvent): void; // a click, not a drag
  hover(px: number, py: number): void;
  open(px: number, py: number): void; // a double click
}

/** Connects pointers and wheel of the canvas with a transform. */
export function listenToPointers(canvas: HTMLCanvasElement, transform: ViewTransform, actions: PointerActions): void {
  const pointers = new Map<number, [x: number, y: number]>();
  let travelled = 0;
  const place = (event: MouseEvent): [number, number] => {
    const area = canvas.getBoundingClientRect();
    return [event.clientX - area.left, event.clientY - area.top];
  };
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    const unit = event.deltaMode === 1 ? 16 : 1;
    if (event.ctrlKey || event.metaKey || !event.shiftKey) transform.zoomAt(...place(event), Math.exp(-event.deltaY * unit * 0.0015));
    else transform.move(-(event.deltaX || event.deltaY) * unit, 0);
    actions.redraw();
  }, { passive: false });
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    pointers.set(event.pointerId, place(event));
    if (pointers.size === 1) travelled = 0;
  });
  canvas.addEventListener("pointermove", (event) => {
    const before = pointers.get(event.pointerId);
    const now = place(event);
    if (!before) {
      actions.hover(...now);
      return;
    }
    const other = [...pointers].find(([id]) => id !== event.pointerId)?.[1];
    if (other) {
      const factor = Math.hypot(now[0] - other[0], now[1] - other[1]) / Math.max(1, Math.hypot(before[0] - other[0], before[1] - other[1]));
      transform.zoomAt((now[0] + other[0]) / 2, (now[1] + other[1]) / 2, factor);
    } else transform.move(now[0] - before[0], now[1] - before[1]);
    travelled += Math.abs(now[0] - before[0]) + Math.abs(now[1] - before[1]);
    pointers.set(event.pointerId, now);
    actions.redraw();
  });
  const release = (event: PointerEvent): void => {
    if (pointers.delete(event.pointerId) && event.type === "pointerup" && travelled < 5) actions.press(...place(event), event);
  };
  canvas.addEventListener("pointerup", release);
  canvas.addEventListener("pointercancel", release);
  canvas.addEventListener("dblclick", (event) => { actions.open(...place(event)); });
}
