// Layouts at once where they take a few milliseconds, and in a worker where they take longer.

import { layOut } from "../layout/layered.ts";
import type { Layout, LayoutProblem } from "../layout/problem.ts";

declare const WORKER_SOURCE: string;

const SMALL = 200; // items and edges that are laid out between two frames of the screen

interface Task {
  problem: LayoutProblem;
  resolve: (layout: Layout) => void;
}

export class LayoutRunner {
  private worker: Worker | null | undefined; // null where the page may have none
  private readonly tasks = new Map<number, Task>();
  private next = 0;

  run(problem: LayoutProblem): Layout | Promise<Layout> {
    const edges = problem.nets.reduce((sum, net) => sum + net.targets.length, 0);
    if (problem.items.length + edges < SMALL) return layOut(problem);
    this.prepare();
    const { worker } = this;
    if (!worker) return layOut(problem);
    const id = this.next++;
    return new Promise((resolve) => {
      this.tasks.set(id, { problem, resolve });
      worker.postMessage({ id, problem });
    });
  }

  /** Starts the worker, which takes longer than a layout. */
  prepare(): void {
    if (this.worker === undefined) this.worker = this.start();
  }

  private start(): Worker | null {
    try {
      const worker = new Worker(URL.createObjectURL(new Blob([WORKER_SOURCE], { type: "text/javascript" })));
      worker.onmessage = ({ data }: MessageEvent<{ id: number; layout: Layout }>) => {
        this.tasks.get(data.id)?.resolve(data.layout);
        this.tasks.delete(data.id);
      };
      worker.onerror = () => { this.giveUp(); };
      return worker;
    } catch {
      return null;
    }
  }

  /** Runs here what the worker has not answered: frames of other pages may refuse workers only when they start. */
  private giveUp(): void {
    this.worker?.terminate();
    this.worker = null;
    for (const { problem, resolve } of this.tasks.values()) resolve(layOut(problem));
    this.tasks.clear();
  }
}
