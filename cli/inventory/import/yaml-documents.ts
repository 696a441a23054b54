import type { Checked, Problem } from "../../../shared/document/problem.ts";
import { parseYaml, type YamlDocument } from "../../../shared/document/yaml-document.ts";

const MOST_DOCUMENTS = 100_000;

/** Reads all documents of a YAML stream. Empty ones are left out. Lines are those of the stream. */
export function parseYamlDocuments(path: string, text: string): Checked<readonly YamlDocument[]> {
  // A line that begins with --- ends the document, wherever it is (YAML 1.2 section 9.1.2).
  const parts = text.split(/^---(?=\s|$)/m);
  if (parts.length > MOST_DOCUMENTS) {
    return { ok: false, problems: [{ source: path, message: `has more than ${MOST_DOCUMENTS} documents` }] };
  }
  const documents: YamlDocument[] = [];
  const problems: Problem[] = [];
  let before = 0;
  for (const part of parts) {
    const moved = moveBy(before);
    const parsed = parseYaml(path, part);
    if (!parsed.ok)
      problems.push(...parsed.problems.map((problem) => ({ ...problem, source: moved(problem.source) })));
    else if (parsed.value.value !== null) {
      const { sourceOf } = parsed.value;
      documents.push({ ...parsed.value, sourceOf: (keys) => moved(sourceOf(keys)) });
    }
    before += part.split("\n").length - 1;
  }
  return problems.length > 0 ? { ok: false, problems } : { ok: true, value: documents, warnings: [] };
}

/** Moves the line of `file:line`. */
function moveBy(lines: number): (source: string) => string {
  return (source) => source.replace(/:(\d+)$/, (_, line: string) => `:${Number(line) + lines}`);
}
