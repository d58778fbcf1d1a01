// The panel beside the picture: everything about what is selected, or about the model.

import { element, button } from "./dom.ts";
import { changesSection } from "./changes_panel.ts";
import { describeModel } from "./model_panel.ts";
import { describeNode, describeScope } from "./node_panel.ts";
import { describeValue } from "./value_panel.ts";
import type { Stage } from "./stage.ts";
import type { Viewer } from "./viewer.ts";

export class Panel {
  readonly root = element("aside", { class: "panel", label: "Details" });

  constructor(private readonly viewer: Viewer, private readonly stage: Stage) {
    for (const event of ["graph", "selection"] as const) viewer.listen(event, () => { this.show(); });
    this.show();
  }

  private show(): void {
    const { viewer, stage } = this;
    const { selection } = viewer;
    const close = selection && button("×", "Close the details (Escape)", () => { viewer.select(null); }, "close");
    const parts = !selection
      ? [...changesSection(viewer), ...describeModel(viewer)]
      : selection.kind === "node" ? describeNode(viewer, stage, selection)
      : selection.kind === "scope" ? describeScope(viewer, stage, selection)
      : describeValue(viewer, selection);
    this.root.replaceChildren(...(close ? [close] : []), ...parts);
    this.root.scrollTop = 0;
  }
}
