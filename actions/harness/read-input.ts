import { readFile } from "node:fs/promises";
import type * as z from "zod/mini";
import { Connection } from "../../shared/contract/connection.ts";
import { nearestName } from "../../shared/nearest-name.ts";
import type { Action } from "./action.ts";
import { commonInput } from "./common-input.ts";
import {
  type ConnectionField,
  connectionFieldTable,
  connectionFile,
  machineField,
} from "./connection-input.ts";
import { readConnectionText } from "./connection-text.ts";
import { fieldNames, unknownVariables } from "./environment.ts";
import { flagOf, type InputField, type InputFields, type InputOf } from "./input.ts";

/** Where input comes from. Flags, by environment name, go before the environment. */
export interface InputSources {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly flags: Readonly<Record<string, string>>;
  readonly stdin: AsyncIterable<Uint8Array>;
  readonly signal: AbortSignal;
}

export interface ActionInput<Fields extends InputFields> {
  readonly own: InputOf<Fields>;
  readonly common: InputOf<typeof commonInput>;
  readonly connection: Connection;
}

export type ReadInput<Fields extends InputFields> =
  | { readonly ok: true; readonly input: ActionInput<Fields> }
  | { readonly ok: false; readonly problems: readonly string[] };

/** Reads and checks everything before anything is sent. Every problem is found, not just the first. */
export async function readInput<Fields extends InputFields>(
  action: Action<Fields>,
  sources: InputSources,
): Promise<ReadInput<Fields>> {
  const values = new Values(sources);
  const problems = unknownVariables(sources.env, fieldNames(action)).map(
    ({ name, nearest }) => `${name} is not known${nearest ? `, did you mean ${nearest}?` : ""}`,
  );
  const own = readFields(action.input, values, problems);
  const common = readFields(commonInput, values, problems);
  const connection = await readConnection(values, sources, problems);
  if (problems.length === 0) problems.push(...(action.check?.(own) ?? []));
  if (problems.length > 0 || !connection) return { ok: false, problems };
  return { ok: true, input: { own, common, connection } };
}

interface Given {
  readonly text: string;
  /** The flag or variable that gave it. */
  readonly from: string;
}

/** Text by environment name, with the name under which the user gave it. Empty counts as not given. */
class Values {
  readonly #sources: InputSources;

  constructor(sources: InputSources) {
    this.#sources = sources;
  }

  get({ env }: Pick<InputField, "env">): Given | undefined {
    const flag = this.#sources.flags[env];
    if (flag !== undefined) return { text: flag, from: flagOf({ env }) };
    const text = this.#sources.env[env];
    return text === undefined || text === "" ? undefined : { text, from: env };
  }
}

function readFields<Fields extends InputFields>(
  fields: Fields,
  values: Values,
  problems: string[],
): InputOf<Fields> {
  const read: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(fields)) {
    const given = values.get(field);
    const text = given?.text ?? field.default;
    if (text === undefined) {
      if (field.required) problems.push(`${field.env} is missing: ${lowerFirst(field.description)}`);
      continue;
    }
    const parsed = field.schema.safeParse(text);
    if (parsed.success) read[name] = parsed.data;
    else problems.push(`${given?.from ?? field.env} ${shown(field, text)}${reason(parsed.error.issues)}`);
  }
  // Every field with a default or required was read, or is among the problems and the input is not used.
  return read as InputOf<Fields>;
}

async function readConnection(
  values: Values,
  sources: InputSources,
  problems: string[],
): Promise<Connection | undefined> {
  const file = values.get(connectionFile);
  return file
    ? connectionFromFile(file.text, values, sources, problems)
    : connectionFromFields(values, problems);
}

async function connectionFromFile(
  path: string,
  values: Values,
  sources: InputSources,
  problems: string[],
): Promise<Connection | undefined> {
  const also = connectionFieldTable.flatMap((field) => values.get(field)?.from ?? []);
  if (also.length > 0) {
    problems.push(
      `${also.join(", ")} cannot be given together with ${connectionFile.env}, which holds it all`,
    );
  }
  const read = await readConnectionText(path, sources);
  if (!read.ok) {
    problems.push(`${connectionFile.env} ${read.problem}`);
    return undefined;
  }
  const parsed = Connection.safeParse(read.value);
  if (!parsed.success) {
    problems.push(
      ...parsed.error.issues.map(
        (issue) => `${connectionFile.env}: ${issue.path.join(".") || "it"} ${reason([issue])}`,
      ),
    );
    return undefined;
  }
  return credentialed(parsed.data, problems, `${connectionFile.env}: `);
}

async function connectionFromFields(values: Values, problems: string[]): Promise<Connection | undefined> {
  const document: Record<string, unknown> = {};
  const origins = new Map<string, Given>();
  const before = problems.length;
  for (const field of [machineField, ...connectionFieldTable]) {
    const given = values.get(field);
    if (!given) continue;
    const key = field.path.join(".");
    const earlier = origins.get(key);
    if (earlier) {
      problems.push(`${earlier.from} and ${given.from} are both given: give one`);
      continue;
    }
    origins.set(key, given);
    const value = await readValue(field, given, problems);
    if (value !== undefined) place(document, field.path, value);
  }
  const parsed = Connection.safeParse(document);
  if (!parsed.success) {
    for (const issue of parsed.error.issues) {
      const key = issue.path.map(String);
      const field = connectionFieldTable.find(({ path }) => path.every((part, index) => part === key[index]));
      const given = field && origins.get(field.path.join("."));
      if (!field) problems.push(`${key.join(".")} ${reason([issue])}`);
      else if (!given) problems.push(`${field.env} is missing: ${lowerFirst(field.description)}`);
      else problems.push(`${given.from} ${shown(field, given.text)}${reasonOf(field, given.text, issue)}`);
    }
  }
  const missing = [
    ...(origins.has("username") ? [] : ["BMC_USERNAME is missing: the user"]),
    ...(origins.has("password") ? [] : ["BMC_PASSWORD or BMC_PASSWORD_FILE is missing: the password"]),
  ];
  problems.push(...missing);
  return parsed.success && problems.length === before ? parsed.data : undefined;
}

/** Every provider so far logs in with a user and a password. */
function credentialed(connection: Connection, problems: string[], prefix: string): Connection | undefined {
  if (connection.username === undefined) problems.push(`${prefix}username is missing`);
  if (connection.password === undefined) problems.push(`${prefix}password is missing`);
  return connection;
}

async function readValue(field: ConnectionField, given: Given, problems: string[]): Promise<unknown> {
  if (!field.fromFile) return field.read(given.text);
  try {
    const text = (await readFile(given.text, "utf8")).replace(/\r?\n$/, "");
    if (text !== "") return text;
    problems.push(`${given.from}: ${given.text} is empty`);
  } catch (thrown) {
    problems.push(`${given.from}: ${given.text} cannot be read (${errorCode(thrown)})`);
  }
  return undefined;
}

function place(document: Record<string, unknown>, path: readonly string[], value: unknown): void {
  const [head = "", ...rest] = path;
  if (rest.length === 0) {
    document[head] = value;
    return;
  }
  const inner = (document[head] ?? {}) as Record<string, unknown>;
  document[head] = inner;
  place(inner, rest, value);
}

function errorCode(thrown: unknown): string {
  return thrown instanceof Error && "code" in thrown ? String(thrown.code) : "unknown error";
}

function shown(field: InputField, text: string): string {
  // A user that pasted `user:password@host` must not find it in a log.
  return field.secret || field.type === "file" || text.includes("@") ? "" : `${JSON.stringify(text)} `;
}

type Issue = z.core.$ZodIssue;

/** The schema's own words, most of which are written to follow the name of the value. */
function reason(issues: readonly Issue[]): string {
  const follows = /^(is|are|must|has|holds|names|cannot)\b/;
  return issues
    .map(({ message }) => (follows.test(message) ? message : `is wrong: ${lowerFirst(message)}`))
    .join(", ");
}

function reasonOf(field: ConnectionField, text: string, issue: Issue): string {
  if (issue.code === "custom" || !field.choices) return reason([issue]);
  const wrong = field.type === "list" ? text.split(",")[Number(issue.path.at(-1))]?.trim() : text;
  const nearest = wrong === undefined ? undefined : nearestName(wrong, field.choices);
  return `is wrong: choose from ${field.choices.join(", ")}${nearest ? ` (did you mean ${nearest}?)` : ""}`;
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}
