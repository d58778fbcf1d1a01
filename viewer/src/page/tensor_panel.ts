// A tensor: shape, size, statistics, histogram, picture and download.

import type { TensorRecord } from "../page_data.ts";
import { formatBytes } from "./decorations.ts";
import { button, element, offerFile } from "./dom.ts";
import { section, table } from "./parts.ts";
import type { Viewer } from "./viewer.ts";

type Measured = Pick<TensorRecord, "statistics" | "picture">;

export function describeTensor(viewer: Viewer, index: number): HTMLElement {
  const tensor = viewer.document.data.tensors[index];
  if (!tensor) return element("span", {}, "no such tensor");
  const rows: [string, Node | string][] = [
    ["element type", tensor.type],
    ["shape", tensor.shape.length ? tensor.shape.join(" × ") : "scalar"],
    ["size", formatBytes(tensor.bytes)],
  ];
  if (tensor.sparse) rows.push(["storage", "sparse"]);
  if (tensor.location) rows.push(["external data", tensor.location]);
  if (tensor.preview) rows.push(["first elements", element("code", {}, tensor.preview)]);
  const measured = element("div", {});
  if (tensor.statistics ?? tensor.picture) measured.append(...describeElements(tensor));
  else if (viewer.page.server) void ask(viewer, index, measured);
  return section(`Tensor ${tensor.name}`, table(rows), measured, download(viewer, tensor, index));
}

function describeElements({ statistics, picture }: Measured): HTMLElement[] {
  const parts: HTMLElement[] = [];
  if (statistics) {
    const number = (value: number): string => Number(value.toPrecision(6)).toString();
    parts.push(table([
      ["minimum", number(statistics.minimum)], ["maximum", number(statistics.maximum)], ["mean", number(statistics.mean)],
      ["deviation", number(statistics.deviation)], ["zeros", String(statistics.zeros)],
      ...(statistics.notFinite ? [["not finite", String(statistics.notFinite)] as [string, string]] : []),
    ]));
    if (statistics.histogram.length) parts.push(drawHistogram(statistics.histogram));
  }
  if (picture) parts.push(drawPicture(picture));
  return parts;
}

function drawHistogram(counts: number[]): HTMLElement {
  const canvas = element("canvas", { class: "histogram", label: `Histogram of ${counts.length} bins` });
  [canvas.width, canvas.height] = [280, 80];
  const context = canvas.getContext("2d")!;
  const most = Math.max(...counts, 1);
  context.fillStyle = "#4a7fc1";
  counts.forEach((count, i) => {
    const height = (count / most) * 78;
    context.fillRect((i * 280) / counts.length, 80 - height, Math.max(1, 280 / counts.length - 1), height);
  });
  return canvas;
}

function drawPicture({ width, height, pixels }: NonNullable<TensorRecord["picture"]>): HTMLElement {
  const canvas = element("canvas", { class: "weights", label: `Elements as grey values, ${width} × ${height}` });
  [canvas.width, canvas.height] = [width, height];
  const context = canvas.getContext("2d")!;
  const image = context.createImageData(width, height);
  const grey = atob(pixels);
  for (let i = 0; i < width * height; i++) image.data.set([grey.charCodeAt(i), grey.charCodeAt(i), grey.charCodeAt(i), 255], i * 4);
  context.putImageData(image, 0, 0);
  return canvas;
}

async function ask(viewer: Viewer, index: number, target: HTMLElement): Promise<void> {
  target.textContent = "…";
  try {
    const answer = await fetch(`api/tensor?${viewer.tensorQuery(index)}`);
    const measured = (await answer.json()) as Measured & { error?: string };
    target.replaceChildren(...(measured.error === undefined ? describeElements(measured) : [element("p", {}, measured.error)]));
  } catch {
    target.textContent = "The server does not answer.";
  }
}

function download(viewer: Viewer, tensor: TensorRecord, index: number): HTMLElement | null {
  const name = `${tensor.name.replace(/[^\w.-]+/g, "_") || "tensor"}.npy`;
  if (tensor.data !== null) {
    const data = tensor.data;
    return button("Download .npy", "Save the tensor as a file", () => { offerFile(name, "application/octet-stream", Uint8Array.from(atob(data), (c) => c.charCodeAt(0))); });
  }
  if (!viewer.page.server) return null;
  const link = element("a", { class: "button", title: "Save the tensor as a file" }, "Download .npy");
  link.href = `api/tensor.npy?${viewer.tensorQuery(index)}`;
  link.download = name;
  return link;
}
