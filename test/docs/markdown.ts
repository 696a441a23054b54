/** A fenced block of a page. */
export interface CodeBlock {
  /** Where it begins, for people: `docs/how-to/write-templates.md:12`. */
  readonly at: string;
  readonly language: string;
  readonly text: string;
  /** The name of a file that it is, as the comment before it says. */
  readonly file?: string;
  /** It is run by a test, which expects this exit code. */
  readonly exitCode?: number;
  /** What it prints, as the block after it says. */
  readonly output?: string;
}

const FENCE =
  /^(?:<!-- (?:file: (?<file>\S+)|run: (?<code>\d+)) -->\n\n)?```(?<language>\w*)\n(?<text>.*?)^```$/gms;

/** Every fenced block of a page, in its order. A `text` block that follows one that is run is what that prints. */
export function codeBlocks(path: string, page: string): readonly CodeBlock[] {
  const blocks: CodeBlock[] = [];
  for (const found of page.matchAll(FENCE)) {
    const { file, code, language = "", text = "" } = found.groups ?? {};
    const before = blocks.at(-1);
    if (language === "text" && before?.exitCode !== undefined && before.output === undefined) {
      blocks[blocks.length - 1] = { ...before, output: text };
    }
    const line = page.slice(0, found.index).split("\n").length;
    const at = `${path}:${line}`;
    blocks.push({
      ...{ at, language, text },
      ...(file === undefined ? {} : { file }),
      ...(code === undefined ? {} : { exitCode: Number(code) }),
    });
  }
  return blocks;
}

/** Code between backticks in the running text. */
export function inlineCode(page: string): readonly string[] {
  const prose = page.replaceAll(/^```.*?^```$/gms, "");
  return [...prose.matchAll(/`([^`\n]+)`/g)].map(([, code = ""]) => code);
}

/** The fragments that GitHub gives the headings of a page. */
export function headingAnchors(page: string): readonly string[] {
  const prose = page.replaceAll(/^```.*?^```$/gms, "");
  return [...prose.matchAll(/^#+ (.+)$/gm)].map(([, heading = ""]) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\w\- ]/g, "")
      .replaceAll(" ", "-"),
  );
}

/** Where the links of a page lead that leave this project's files no choice: paths and fragments, no addresses. */
export function localLinks(page: string): readonly string[] {
  const prose = page.replaceAll(/^```.*?^```$/gms, "");
  return [...prose.matchAll(/\]\(([^)\s]+)\)/g)].flatMap(([, target = ""]) =>
    /^\w+:/.test(target) ? [] : [target],
  );
}
