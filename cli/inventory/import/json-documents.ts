const MOST_DOCUMENTS = 10_000;

/** Parses JSON documents that follow one another, as `cat` joins files. Throws a `SyntaxError` for anything else. */
export function parseJsonDocuments(text: string): readonly unknown[] {
  const documents: unknown[] = [];
  let depth = 0;
  let start = 0;
  let inString = false;
  // Each character is read once: the text may be 16 MiB of anything.
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at];
    if (inString) {
      if (character === "\\") at += 1;
      else if (character === '"') inString = false;
    } else if (character === '"') inString = true;
    else if (character === "{" || character === "[") depth += 1;
    else if (character === "}" || character === "]") {
      depth -= 1;
      if (depth > 0) continue;
      documents.push(JSON.parse(text.slice(start, at + 1)));
      if (documents.length > MOST_DOCUMENTS) {
        throw new SyntaxError(`has more than ${MOST_DOCUMENTS} documents`);
      }
      start = at + 1;
    }
  }
  if (text.slice(start).trim() !== "") throw new SyntaxError("ends within a document");
  return documents;
}
