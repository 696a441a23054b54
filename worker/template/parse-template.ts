import { LineCounter, type YAMLError } from "yaml";
import { parseImageReference } from "../../shared/contract/image-reference.ts";
import { oneLine } from "../../shared/contract/result.ts";
import { composeYaml } from "../../shared/document/compose-yaml.ts";
import { type Fields, Reading, TooManyAliases } from "./fields.ts";
import type { ValueMap } from "./go/value.ts";
import { LONGEST_TEMPLATE, type SourceProblem, substitute } from "./substitute.ts";
import type { Template, TemplateAction, TemplateProblem, TemplateTask } from "./template.ts";

export type ParsedTemplate =
  | { readonly ok: true; readonly template: Template; readonly keys: ReadonlySet<string> }
  /** The problems in the order of the source. */
  | { readonly ok: false; readonly problems: readonly TemplateProblem[]; readonly keys: ReadonlySet<string> };

const NO_ACTIONS = "the task has no actions: the workflow would never get past it";
/** Further syntax errors are usually consequences of the first ones. */
const MOST_SYNTAX_PROBLEMS = 10;
const TOO_DEEP = "the template is nested too deeply";
/** The maximum number of problems, because each may quote a part of the template. */
const MOST_PROBLEMS = 100;
/** Only shorter lines are checked for hints: a template may be one line with many problems. */
const LONG_LINE = 256;
/** A position after an odd number of double quotes. */
const QUOTE_IN_QUOTES = /^[^"]*(?:"[^"]*"[^"]*)*"[^"]*\{\{[^{}"]*\bquote\b/;
/** A position in a comment. */
const COMMENT = /^(?:[^'"]*\s)?#/;

/**
 * Renders and parses a Tinkerbell template by the controller's rules. Reports all problems at once, with their place in
 * `text`. It is stricter than the controller about mistakes that would only appear later: unknown fields, duplicate keys,
 * and tasks without a worker or without actions, which block a workflow forever.  Values are inserted before the text is
 * parsed as YAML, like in the controller, so a value that contains YAML changes the template's structure. Pass only values
 * from sources that are trusted with the whole template.
 */
export function parseTemplate(text: string, values: ValueMap): ParsedTemplate {
  if (text.length > LONGEST_TEMPLATE) {
    return failed(text, [{ offset: 0, message: "the template is too large" }], new Set());
  }
  const rendered = substitute(text, values);
  const { keys } = rendered;
  const found: SourceProblem[] = [];
  const report = (renderedOffset: number, message: string, isSyntax = false) => {
    const offset = rendered.sourceOffset(renderedOffset);
    const hasQuotes = isSyntax && QUOTE_IN_QUOTES.test(lineAt(text, offset));
    found.push({ offset, message: hasQuotes ? "quote adds quotes: remove those around {{ }}" : message });
  };
  // The template is too large for the controller, and for the parser, which would take long.
  const template = rendered.isTooLarge ? undefined : readYaml(rendered.text, report);
  const problems = rendered.problems.map((problem) => inComment(text, problem));
  if (problems.length > 0)
    return failed(text, [...problems, ...(template ? elsewhere(text, found, problems) : [])], keys);
  return template && found.length === 0 ? { ok: true, template, keys } : failed(text, found, keys);
}

/** The part of a line before a position; empty if it is long. */
function lineBefore(text: string, offset: number): string {
  const near = text.slice(Math.max(0, offset - LONG_LINE), offset);
  const start = near.lastIndexOf("\n");
  return start < 0 && offset > LONG_LINE ? "" : near.slice(start + 1);
}

function lineAt(text: string, offset: number): string {
  const [after = ""] = text.slice(offset, offset + LONG_LINE).split("\n", 1);
  return lineBefore(text, offset) + after;
}

function inComment(text: string, problem: SourceProblem): SourceProblem {
  const { offset, message } = problem;
  if (!COMMENT.test(lineBefore(text, offset))) return problem;
  return { offset, message: `${message} (comments are rendered too)` };
}

/** Problems on other lines. A problem on the line of a failed substitution may be its consequence. */
function elsewhere(
  text: string,
  found: readonly SourceProblem[],
  failedSubstitutions: readonly SourceProblem[],
): readonly SourceProblem[] {
  const lines = linesOf(text);
  const lineOf = ({ offset }: SourceProblem) => lines.linePos(offset).line;
  const taken = new Set(failedSubstitutions.map(lineOf));
  return found.filter((problem) => !taken.has(lineOf(problem)));
}

function readYaml(
  text: string,
  report: (offset: number, message: string, isSyntax?: boolean) => void,
): Template | undefined {
  try {
    const { document, repeatedKeys, aliases } = composeYaml(text);
    const faults = [...document.errors, ...document.warnings].slice(0, MOST_SYNTAX_PROBLEMS);
    for (const fault of faults) report(fault.pos[0], messageOf(fault), true);
    // Without a reliable structure, further checks would be guesses.
    if (document.errors.length > 0) return undefined;
    for (const offset of repeatedKeys) report(offset, "this key is there twice");
    const reading = new Reading(aliases, report);
    const fields = reading.fields(document.contents, "the template", 0);
    return fields && readTemplate(fields);
  } catch (thrown) {
    if (thrown instanceof RangeError) report(0, TOO_DEEP);
    else if (thrown instanceof TooManyAliases) report(0, thrown.message);
    else throw thrown;
    return undefined;
  }
}

function messageOf(fault: YAMLError): string {
  if (fault.code === "MULTIPLE_DOCS") return "a template is one YAML document";
  return oneLine(fault.message);
}

function readTemplate(fields: Fields): Template {
  const version = fields.text("version") ?? "";
  const name = readName(fields);
  const id = fields.optionalText("id");
  const globalTimeoutSeconds = fields.seconds("global_timeout");
  const tasks = fields.maps("tasks", "the task", "the template has no tasks");
  const template = {
    version,
    name,
    id,
    globalTimeoutSeconds,
    tasks: readUnique(tasks, "two tasks are", readTask),
  };
  fields.end();
  return template;
}

function readTask(fields: Fields): TemplateTask {
  const actions = fields.maps("actions", "the action", NO_ACTIONS);
  const task = {
    name: readName(fields),
    worker: fields.text("worker") ?? "",
    volumes: fields.texts("volumes"),
    environment: readEnvironment(fields),
    actions: readUnique(actions, "two actions of a task are", readAction),
  };
  fields.end();
  return task;
}

function readAction(fields: Fields): TemplateAction {
  const pid = fields.optionalText("pid");
  const namespaces = readNamespaces(fields.map("namespaces"));
  const action = {
    name: readName(fields),
    image: readImage(fields),
    timeoutSeconds: fields.seconds("timeout"),
    command: fields.texts("command"),
    onTimeout: fields.texts("on-timeout"),
    onFailure: fields.texts("on-failure"),
    volumes: fields.texts("volumes"),
    environment: readEnvironment(fields),
    pid,
    namespaces,
  };
  fields.end();
  return action;
}

function readNamespaces(fields: Fields | undefined): TemplateAction["namespaces"] {
  if (fields === undefined) return undefined;
  const network = fields.optionalText("network");
  const pid = fields.optionalText("pid");
  fields.end();
  return { network, pid };
}

function readName(fields: Fields): string {
  const name = fields.text("name") ?? "";
  if (Buffer.byteLength(name) > 199) fields.problem("name", "name is longer than 199 bytes");
  return name;
}

function readImage(fields: Fields): string {
  const image = fields.text("image");
  if (image !== undefined && parseImageReference(image) === undefined) {
    fields.problem("image", `${JSON.stringify(oneLine(image))} is not an image reference`);
  }
  return image ?? "";
}

function readEnvironment(fields: Fields): Readonly<Record<string, string>> {
  const environment = fields.textMap("environment");
  for (const name of Object.keys(environment)) {
    // Such names are not possible in a process's environment (environ(7)).
    if (name === "" || /[=\0]/.test(name))
      fields.problem("environment", `${JSON.stringify(name)} is not a variable name`);
  }
  return environment;
}

function readUnique<T extends { readonly name: string }>(
  list: readonly Fields[],
  complaint: string,
  read: (fields: Fields) => T,
): readonly T[] {
  const names = new Set<string>();
  return list.map((fields) => {
    const item = read(fields);
    if (item.name !== "" && names.has(item.name)) fields.problem("name", `${complaint} named ${item.name}`);
    names.add(item.name);
    return item;
  });
}

function failed(
  source: string,
  problems: readonly SourceProblem[],
  keys: ReadonlySet<string>,
): ParsedTemplate {
  const lines = linesOf(source);
  const sorted = problems.toSorted((a, b) => a.offset - b.offset);
  const left = sorted.length - MOST_PROBLEMS;
  const placed = sorted.slice(0, MOST_PROBLEMS).map(({ offset, message }, index) => {
    const { line, col } = lines.linePos(Math.min(offset, source.length));
    const isLast = left > 0 && index === MOST_PROBLEMS - 1;
    return { line, column: col, message: isLast ? `${message} (and ${left} more problems)` : message };
  });
  return { ok: false, problems: placed, keys };
}

function linesOf(source: string): LineCounter {
  const lines = new LineCounter();
  lines.addNewLine(0);
  for (let at = source.indexOf("\n"); at >= 0; at = source.indexOf("\n", at + 1)) lines.addNewLine(at + 1);
  return lines;
}
