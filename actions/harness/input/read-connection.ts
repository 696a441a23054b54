import { dirname, join } from "node:path";
import * as z from "zod/mini";
import { Connection, requiredCredentials } from "../../../shared/contract/connection.ts";
import { resolveFileReferences } from "../../../shared/contract/file-reference.ts";
import { type GivenValue, givenValue, type ValueSources } from "../../../shared/contract/given.ts";
import { withoutLineEnd } from "../../../shared/contract/secret-doubt.ts";
import { connectionFieldTable, connectionFile, machineField } from "./connection-input.ts";
import { describeIssue, missingValue, wrongValue } from "./describe-problem.ts";
import type { NameInput } from "./input.ts";
import { readText, readValue, type TextSources } from "./read-text.ts";
import { nameInputs } from "./setting-name.ts";

export type ConnectionSources = ValueSources & TextSources;

export interface ReadConnection {
  /** Undefined if the connection is missing or has a problem. */
  readonly connection: Connection | undefined;
  /** The action's secret inputs by variable. */
  readonly secretInputs: SecretInputs;
}

const SecretInputs = z.record(z.string(), z.string());
export type SecretInputs = Readonly<Record<string, string>>;

/** Reads the connection, either as a whole from a file or field by field. */
export async function readConnection(
  sources: ConnectionSources,
  problems: string[],
): Promise<ReadConnection> {
  const file = givenValue(connectionFile.env, sources);
  if (file) return readWhole(file, sources, problems);
  return { connection: await readFields(sources, problems), secretInputs: {} };
}

async function readWhole(
  { text: path, from }: GivenValue,
  sources: ConnectionSources,
  problems: string[],
): Promise<ReadConnection> {
  const also = connectionFieldTable.flatMap((field) => givenValue(field.env, sources)?.from ?? []);
  if (also.length > 0) {
    problems.push(`${also.join(", ")} cannot be combined with ${from}, which contains the whole connection`);
  }
  const document = await readJson(path, sources);
  if (!document.ok) {
    problems.push(`${from}: ${path === "-" ? "stdin" : path} ${document.problem}`);
    return NOTHING;
  }
  const before = problems.length;
  const resolved = await resolveFileReferences(document.value, (file) =>
    readBeside(path, file, { from, sources, problems }),
  );
  if (problems.length > before) return NOTHING;
  const { whole, secretInputs } = split(resolved);
  const parsed = Connection.safeParse(whole);
  if (!parsed.success) {
    const issues = parsed.error.issues;
    problems.push(
      ...issues.map((issue) => `${from}: ${issue.path.join(".") || "it"} ${describeIssue(issue)}`),
    );
    return NOTHING;
  }
  const connection = parsed.data;
  for (const name of requiredCredentials(connection)) {
    if (connection[name] === undefined) problems.push(`${from}: ${name} is missing`);
  }
  const machine = connection.machine ?? givenValue(machineField.env, sources)?.text;
  return { connection: machine === undefined ? connection : { ...connection, machine }, secretInputs };
}

const NOTHING: ReadConnection = { connection: undefined, secretInputs: {} };

/** Separates the secret inputs from a connection. Only a worker writes them into the connection file. */
function split(resolved: unknown): { readonly whole: unknown; readonly secretInputs: SecretInputs } {
  if (typeof resolved !== "object" || resolved === null || !("secretInputs" in resolved)) {
    return { whole: resolved, secretInputs: {} };
  }
  const { secretInputs, ...whole } = resolved;
  const parsed = SecretInputs.safeParse(secretInputs);
  return parsed.success ? { whole, secretInputs: parsed.data } : { whole: resolved, secretInputs: {} };
}

/** Reads a secret from a separate file. Returns a problem instead of text if that fails. */
async function readBeside(
  path: string,
  file: string,
  { from, sources, problems }: { from: string; sources: TextSources; problems: string[] },
): Promise<string> {
  if (path === "-") {
    problems.push(`${from}: stdin names the file ${file}, which only a connection in a file can`);
    return "";
  }
  const place = join(dirname(path), file);
  const read = await readText(place, sources);
  if (!read.ok) problems.push(`${from}: ${place} ${read.problem}`);
  return read.ok ? withoutLineEnd(read.text) : "";
}

async function readJson(path: string, sources: TextSources) {
  const read = await readText(path, sources);
  if (!read.ok) return read;
  try {
    const value: unknown = JSON.parse(read.text);
    return { ok: true, value } as const;
  } catch {
    return { ok: false, problem: "is not JSON" } as const;
  }
}

async function readFields(sources: ConnectionSources, problems: string[]): Promise<Connection | undefined> {
  const nameInput = nameInputs(sources);
  const document: Record<string, unknown> = {};
  const origins = new Map<string, GivenValue>();
  for (const field of [machineField, ...connectionFieldTable]) {
    const given = givenValue(field.env, sources);
    if (!given) continue;
    const key = field.path.join(".");
    const earlier = origins.get(key);
    if (earlier) {
      problems.push(`${earlier.from} and ${given.from} are both set: set only one`);
      continue;
    }
    origins.set(key, given);
    const text = await readValue(field, given, sources, problems);
    if (text !== undefined) place(document, field.path, field.fromFile ? text : field.read(text));
  }
  for (const name of requiredCredentials(document)) {
    if (!origins.has(name)) problems.push(MISSING_CREDENTIALS[name](nameInput));
  }
  const parsed = Connection.safeParse(document);
  if (parsed.success) return parsed.data;
  for (const issue of parsed.error.issues) {
    const key = issue.path.map(String);
    const field = connectionFieldTable.find(({ path }) => path.every((part, index) => part === key[index]));
    const given = field && origins.get(field.path.join("."));
    if (!field) problems.push(`${key.join(".")} ${describeIssue(issue)}`);
    else problems.push(given ? wrongValue(field, given, [issue]) : missingValue(field, nameInput));
  }
  return undefined;
}

const MISSING_CREDENTIALS = {
  username: (nameInput: NameInput) => `${nameInput("BMC_USERNAME")} is missing: the user`,
  password: (nameInput: NameInput) =>
    `BMC_PASSWORD or ${nameInput("BMC_PASSWORD_FILE")} is missing: the password`,
};

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
