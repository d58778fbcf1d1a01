// Layouts of large frames, in a thread of their own.

import { layOut } from "./layout/layered.ts";
import type { LayoutProblem } from "./layout/problem.ts";

const scope = self as unknown as { onmessage: (event: MessageEvent<{ id: number; problem: LayoutProblem }>) => void; postMessage: (answer: unknown) => void };
scope.onmessage = ({ data }) => { scope.postMessage({ id: data.id, layout: layOut(data.problem) }); };
