import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** A log message in the source, with `<name>` in place of each value. */
export interface LogMessage {
  readonly file: string;
  /** Undefined where it depends. */
  readonly level: string | undefined;
  readonly message: string;
}

/** A call of a logger with fields and message: `log.warn(`, `this.#log.info(`, `log[ok ? "info" : "warn"](`, `logOutage(log,`. */
const CALL = /(?:\.(debug|info|warn|error)|\blog\[[^\]]+\]|\blogOutage)\(/g;
/** Messages that were written elsewhere: of problems of the operator's files, and actions' own lines. */
const PASSED_ON = "message";
const PASSED_ON_WITH = /\b(source|stream)\b/;
/** What an action does now is documented with the results of actions. */
const PROGRESS = "progressFields(";
const CONSTANT = /^[A-Z][A-Z_]+$/;

/** Every message that the TypeScript files under a folder log. Throws for a call whose message it cannot read. */
export function logMessages(folder: string, except: readonly string[] = []): readonly LogMessage[] {
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" });
  return names
    .filter((name) => name.endsWith(".ts") && !name.includes("gen/") && !except.includes(name))
    .flatMap((name) => messagesOf(name, readFileSync(join(folder, name), "utf8")));
}

function messagesOf(file: string, source: string): readonly LogMessage[] {
  return [...failureMessages(file, source), ...callMessages(file, source)];
}

/** The messages that a `Controller` is given for its failures. */
function failureMessages(file: string, source: string): readonly LogMessage[] {
  return [...source.matchAll(/failure: \{\s*message: "([^"]+)"/g)].map(([, message = ""]) => {
    return { file, level: "warn", message };
  });
}

function callMessages(file: string, source: string): readonly LogMessage[] {
  return [...source.matchAll(CALL)].flatMap((call) => {
    const [fields, message, ...more] = argumentsAt(source, call.index + call[0].length).slice(
      call[0].startsWith("logOutage") ? 2 : 0,
    );
    // Something else that has the name, such as a driver's `info(signal)`.
    if (fields === undefined || message === undefined || more.length > 0) return [];
    if (message === PASSED_ON && PASSED_ON_WITH.test(fields)) return [];
    if (fields.startsWith(PROGRESS) || message === "failure.message") return [];
    return textsOf(message, source).map((text) => {
      if (text === undefined) throw new Error(`${file}: the message ${message} cannot be read`);
      return { file, level: call[1], message: text };
    });
  });
}

function textsOf(expression: string, source: string): readonly (string | undefined)[] {
  if (CONSTANT.test(expression)) {
    return [new RegExp(`const ${expression} = "([^"]+)"`).exec(source)?.[1]];
  }
  const texts = [...expression.matchAll(/"((?:[^"\\]|\\.)*)"|`([^`]*)`/g)].map(([, plain, template]) =>
    (plain ?? template)?.replaceAll(/\$\{([\w.]+)\}/g, "<$1>"),
  );
  return texts.length > 0 ? texts : [undefined];
}

/** The top-level arguments of a call whose opening parenthesis is before `from`. */
function argumentsAt(source: string, from: number): readonly string[] {
  const found: string[] = [];
  let depth = 0;
  let quote: string | undefined;
  let begin = from;
  for (let at = from; at < source.length; at += 1) {
    const character = source[at] ?? "";
    if (quote !== undefined) {
      if (character === "\\") at += 1;
      else if (character === quote) quote = undefined;
    } else if (`"'\``.includes(character)) quote = character;
    else if ("([{".includes(character)) depth += 1;
    else if (depth === 0 && ",)".includes(character)) {
      const argument = source.slice(begin, at).trim();
      if (argument !== "") found.push(argument);
      begin = at + 1;
      if (character === ")") break;
    } else if (")]}".includes(character)) depth -= 1;
  }
  return found;
}
