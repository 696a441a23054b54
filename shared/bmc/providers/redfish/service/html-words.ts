/** Enough for the words of an error page; the rest of a larger one is not read. */
const MOST_CHARACTERS = 8_192;

const ENTITIES: Readonly<Record<string, string>> = {
  "&lt;": "<",
  "&gt;": ">",
  "&quot;": '"',
  "&#39;": "'",
  "&nbsp;": " ",
  "&amp;": "&",
};

/** The words of plain text or of an HTML page, without its title if it has others. Each step is linear in the text. */
export function htmlWords(text: string): string {
  const page = text.slice(0, MOST_CHARACTERS).replace(/<(script|style)\b[\s\S]*?(<\/\1\s*>|$)/gi, " ");
  const words = withoutTags(page.replace(/<head\b[\s\S]*?(<\/head\s*>|$)/gi, " "));
  return words === "" ? withoutTags(page) : words;
}

/** An angle bracket that begins no tag stays, as in `1 < 2`. */
function withoutTags(text: string): string {
  return text
    .replace(/<!--[\s\S]*?(-->|$)/g, " ")
    .replace(/<[a-z/!?][^>]*(>|$)/gi, " ")
    .replace(/&(lt|gt|quot|#39|nbsp|amp);/g, (entity) => ENTITIES[entity] ?? entity)
    .trim();
}
