// Widths of texts without a browser: of Helvetica and the fonts with its metrics, in thousandths of the font size. Layouts do not
// depend on the fonts of a machine; drawing narrows a text that its font makes wider.

const ASCII =
  "278 278 355 556 556 889 667 191 333 333 389 584 278 333 278 278 556 556 556 556 556 556 556 556 556 556 278 278 584 584 584 556 " +
  "1015 667 667 722 722 667 611 778 722 278 500 667 556 833 722 778 667 778 722 667 611 722 667 944 667 667 611 278 278 278 469 556 " +
  "333 556 556 500 556 556 278 556 556 222 222 500 222 833 556 556 556 556 333 500 278 556 500 722 500 500 500 334 260 334 584";
const WIDTHS = ASCII.split(" ").map(Number);

export const FONT = '"Helvetica Neue", Helvetica, Arial, "Liberation Sans", sans-serif';

function characterWidth(code: number): number {
  if (code >= 32 && code < 127) return WIDTHS[code - 32]!;
  if (code < 32) return 0;
  if (code < 0x1100 || (code >= 0x2000 && code < 0x2c00)) return code === 0x2026 || code === 0x2190 || code === 0x2192 ? 1000 : 600;
  return 1000; // wide scripts and pictures
}

export function measure(text: string, size: number, bold = false): number {
  let total = 0;
  for (const character of text) total += characterWidth(character.codePointAt(0)!);
  return (total * size * (bold ? 1.07 : 1)) / 1000;
}

/** The text, or its beginning and end around an ellipsis, no wider than `width`. */
export function shorten(text: string, width: number, size: number, bold = false): string {
  if (measure(text, size, bold) <= width) return text;
  const characters = Array.from(text.slice(0, 2000));
  let [low, high] = [0, characters.length];
  const cut = (count: number): string => {
    const tail = Math.floor(count / 3);
    return `${characters.slice(0, count - tail).join("")}…${tail ? characters.slice(-tail).join("") : ""}`;
  };
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (measure(cut(middle), size, bold) <= width) low = middle;
    else high = middle - 1;
  }
  return cut(low);
}
