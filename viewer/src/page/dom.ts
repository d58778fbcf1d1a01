// Elements without markup: texts of a model become text nodes and nothing else.

type Child = Node | string | null | undefined;

interface Properties {
  class?: string;
  title?: string;
  label?: string; // for screen readers
  role?: string;
  on?: Partial<Record<keyof HTMLElementEventMap, (event: Event) => void>>;
}

export function element<K extends keyof HTMLElementTagNameMap>(tag: K, properties: Properties = {}, ...children: Child[]): HTMLElementTagNameMap[K] {
  const result = document.createElement(tag);
  if (properties.class) result.className = properties.class;
  if (properties.title) result.title = properties.title;
  if (properties.label) result.setAttribute("aria-label", properties.label);
  if (properties.role) result.setAttribute("role", properties.role);
  for (const [name, listener] of Object.entries(properties.on ?? {})) result.addEventListener(name, listener);
  result.append(...children.filter((child): child is Node | string => child !== null && child !== undefined));
  return result;
}

export function button(text: string, title: string, press: () => void, className = ""): HTMLButtonElement {
  const result = element("button", { title, class: className, on: { click: press } }, text);
  result.type = "button";
  if (text.length < 3) result.setAttribute("aria-label", title);
  return result;
}

/** Offers bytes as a file. */
export function offerFile(name: string, type: string, content: BlobPart): void {
  const address = URL.createObjectURL(new Blob([content], { type }));
  const link = element("a");
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => { URL.revokeObjectURL(address); }, 10000);
}

/** Offers what the server answers as a file; returns why it does not, or "". */
export async function download(address: string, name: string): Promise<string> {
  try {
    const answer = await fetch(address);
    if (!answer.ok) return ((await answer.json()) as { error: string }).error;
    offerFile(name, "application/octet-stream", await answer.blob());
    return "";
  } catch {
    return "The server does not answer.";
  }
}

/** Puts a text on the clipboard, where the page may. */
export function copyText(text: string): void {
  // Pages inside of others have no `clipboard`, whatever its type says.
  const clipboard = navigator.clipboard as Clipboard | undefined;
  clipboard?.writeText(text).catch(() => undefined);
}
