import type { Readable, Writable } from "node:stream";

/** The terminal that a person types at. */
export interface TypingTerminal extends Readable {
  readonly isTTY?: boolean;
  setRawMode(raw: boolean): unknown;
}

const [CTRL_C, CTRL_D, BACKSPACE, DELETE] = ["\x03", "\x04", "\b", "\x7f"];

/** Opens stdin. What is typed at a terminal is not shown, because it is a password or a connection with one. */
export function openStdin(stdin: TypingTerminal, prompt: Writable): AsyncIterable<Uint8Array> {
  return stdin.isTTY ? hiddenInput(stdin, prompt) : stdin;
}

/** Yields what is typed, without an echo. Enter ends it, except within a JSON object, and so does Ctrl+D. */
async function* hiddenInput(terminal: TypingTerminal, prompt: Writable): AsyncGenerator<Uint8Array> {
  prompt.write("input (hidden): ");
  terminal.setRawMode(true);
  try {
    let typed = "";
    for await (const chunk of terminal) {
      for (const key of String(chunk)) {
        if (key === CTRL_C) process.kill(process.pid, "SIGINT");
        else if (key === BACKSPACE || key === DELETE) typed = typed.replace(/.$/su, "");
        else if (key === CTRL_D || (isEnter(key) && isWhole(typed))) {
          yield Buffer.from(typed);
          return;
        } else typed += isEnter(key) ? "\n" : key;
      }
    }
    yield Buffer.from(typed);
  } finally {
    terminal.setRawMode(false);
    prompt.write("\n");
  }
}

function isEnter(key: string): boolean {
  return key === "\r" || key === "\n";
}

/** Whether a line is all that was meant: a connection in JSON may have several. */
function isWhole(text: string): boolean {
  if (!text.trimStart().startsWith("{")) return true;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
