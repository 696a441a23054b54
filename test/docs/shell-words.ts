/** A command of a shell script with its words, without quotes. Redirections are left out. */
export type ShellCommand = readonly string[];

const WORD = /"((?:\\.|[^"\\])*)"|'([^']*)'|\\(.)|([^\s"'\\;|&<>()]+)/y;
const SEPARATOR = /(?:\|\||&&|[;|&\n])/y;
const REDIRECTION = /\d?(?:>>|>|<)\s*(?:&\d|[^\s;|&]+)?/y;

/**
 * The commands of a plain script: words, quotes, pipes and lists, which is what manuals hold. Throws for anything that it
 * does not know, such as here-documents.
 */
export function shellCommands(script: string): readonly ShellCommand[] {
  const text = script.replaceAll("\\\n", " ").replaceAll(/(^|\s)#.*$/gm, "$1");
  const commands: string[][] = [[]];
  let word: string | undefined;
  let at = 0;
  const take = (pattern: RegExp): RegExpExecArray | undefined => {
    pattern.lastIndex = at;
    const found = pattern.exec(text);
    if (found) at = pattern.lastIndex;
    return found ?? undefined;
  };
  const endWord = () => {
    if (word !== undefined) commands.at(-1)?.push(word);
    word = undefined;
  };
  while (at < text.length) {
    const separator = take(SEPARATOR);
    if (separator) {
      endWord();
      commands.push([]);
      continue;
    }
    if (/\s/.test(text[at] ?? "")) {
      endWord();
      at += 1;
      continue;
    }
    if (word === undefined && take(REDIRECTION)) continue;
    const found = take(WORD);
    if (!found) throw new Error(`not understood: ${text.slice(at, at + 20)}`);
    const [, double, single, escaped, plain] = found;
    word = `${word ?? ""}${double?.replaceAll(/\\(["\\$`])/g, "$1") ?? single ?? escaped ?? plain ?? ""}`;
  }
  endWord();
  return commands.filter(({ length }) => length > 0);
}
