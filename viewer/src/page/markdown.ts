// Documentation of models: Markdown, of which the sanitiser leaves text and structure. Links open elsewhere; nothing runs or loads.

import DOMPurify from "dompurify";
import { Marked } from "marked";
import { escapeMarkup } from "../drawing/svg_painter.ts";

const TAGS = ["p", "br", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "li", "em", "strong", "del", "code", "pre", "blockquote", "table", "thead", "tbody", "tr", "th", "td", "hr", "a", "sub", "sup"];
// Markup inside of Markdown is shown as it is written, and never reaches the parser of HTML.
const parser = new Marked({ async: false, gfm: true, renderer: { html: ({ text }) => escapeMarkup(text), image: ({ text }) => escapeMarkup(text) } });

export function renderMarkdown(text: string): HTMLElement {
  const container = document.createElement("div");
  container.className = "documentation";
  const fragment = DOMPurify.sanitize(parser.parse(text.slice(0, 200000)) as string, {
    ALLOWED_TAGS: TAGS, ALLOWED_ATTR: ["href"], ALLOWED_URI_REGEXP: /^https?:/i, RETURN_DOM_FRAGMENT: true,
  });
  for (const link of fragment.querySelectorAll("a")) {
    link.rel = "noopener noreferrer";
    link.target = "_blank";
  }
  container.append(fragment);
  return container;
}
