import type { Connection } from "../../../shared/contract/connection.ts";
import { type GivenText, type GivenValue, givenValue } from "../../../shared/contract/given.ts";
import type { NameOption } from "../../../shared/contract/name-option.ts";
import { RETRIES } from "../../../shared/contract/retries.ts";
import { commonInput } from "./common-input.ts";
import { missingValue, wrongValue } from "./describe-problem.ts";
import { fieldNames, unknownVariables, withoutServiceLinks } from "./environment.ts";
import { type ConnectionPlaces, connectionPlaces, placeProblem } from "./file-place.ts";
import type { ParsedFlags } from "./flags.ts";
import type { ActionDescription, InputField, InputFields, InputOf, NameInput } from "./input.ts";
import { type ConnectionSources, readConnection, type SecretInputs } from "./read-connection.ts";
import { readValue } from "./read-text.ts";
import { nameInputs, nameOptions } from "./setting-name.ts";

export interface ActionInput<Fields extends InputFields> {
  readonly own: InputOf<Fields>;
  readonly common: InputOf<typeof commonInput>;
  readonly connection: Connection;
  readonly nameInput: NameInput;
  readonly nameOption: NameOption;
}

export type ReadInput<Fields extends InputFields> =
  | { readonly ok: true; readonly input: ActionInput<Fields> }
  | { readonly ok: false; readonly problems: readonly string[] };

/** Reads and checks everything before anything is sent. Reports every problem, not only the first. */
export async function readInput<Fields extends InputFields>(
  action: ActionDescription<Fields>,
  given: ConnectionSources,
): Promise<ReadInput<Fields>> {
  const sources = { ...given, env: withoutServiceLinks(given.env) };
  const nameInput = nameInputs(sources);
  const problems = [...unknownVariables(sources.env, fieldNames(action))];
  const before = problems.length;
  const connectionProblems: string[] = [];
  const { connection, secretInputs } = await readConnection(sources, connectionProblems);
  const places = await connectionPlaces(sources);
  const own = await readFields(action.input, { sources, places }, problems, secretInputs);
  if (problems.length === before) problems.push(...(action.check?.(own, nameInput) ?? []));
  const common = await readFields(commonInput, { sources, places }, problems);
  if (common.retries > 0 && !action.idempotent) {
    problems.push(notRepeated(action, nameInput));
  }
  problems.push(...connectionProblems);
  if (problems.length > 0 || !connection) return { ok: false, problems };
  return { ok: true, input: { own, common, connection, nameInput, nameOption: nameOptions(sources) } };
}

async function readFields<Fields extends InputFields>(
  fields: Fields,
  { sources, places }: { readonly sources: ConnectionSources; readonly places: ConnectionPlaces },
  problems: string[],
  secretInputs: SecretInputs = {},
): Promise<InputOf<Fields>> {
  const read: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(fields)) {
    const given = givenValue(field.env, sources) ?? secretGiven(field, secretInputs);
    if (given === undefined && field.default === undefined) {
      if (field.required) problems.push(missingValue(field, nameInputs(sources)));
      continue;
    }
    // A password may be rotated in the file that it comes from.
    const forbidden = field.written ? { ...places, files: [] } : places;
    const misplaced = given && field.type === "file" ? await placeProblem(given.text, forbidden) : undefined;
    if (given && misplaced !== undefined) {
      problems.push(`${given.from}: ${given.text} ${misplaced}`);
      continue;
    }
    const text = given ? await readValue(field, given, sources, problems) : field.default;
    if (text === undefined) continue;
    const parsed = field.schema.safeParse(text);
    if (parsed.success) read[name] = parsed.data;
    else problems.push(wrongValue(field, given ?? { text, from: field.env }, parsed.error.issues));
  }
  // Every field that is required or has a default was read; otherwise there is a problem and the input is not used.
  return read as InputOf<Fields>;
}

/**
 * Returns what is wrong with an action's variables and flags, as far as it can be known before the action runs: without the
 * files that they name and without the connection, which the worker adds.
 */
export function givenProblems(
  action: ActionDescription,
  env: GivenText["environment"],
  flags: Pick<ParsedFlags, "values" | "meant" | "problems">,
): readonly string[] {
  const sources = { env: withoutServiceLinks(env), flags: { ...flags.meant, ...flags.values } };
  const nameInput = nameInputs(sources);
  const problems = [...flags.problems];
  let isComplete = true;
  const readAll = (fields: InputFields): Record<string, unknown> => {
    const read: Record<string, unknown> = {};
    for (const [name, field] of Object.entries(fields)) {
      const given = givenValue(field.env, sources);
      if (!given && field.required && !field.secret) problems.push(missingValue(field, nameInput));
      const text = given?.text ?? field.default;
      if (field.secret || field.fromFile) isComplete = false;
      else if (text !== undefined) {
        const parsed = field.schema.safeParse(text);
        if (parsed.success) read[name] = parsed.data;
        else problems.push(wrongValue(field, given ?? { text, from: field.env }, parsed.error.issues));
      }
    }
    return read;
  };
  const own = readAll(action.input);
  if (isComplete && problems.length === 0) problems.push(...(action.check?.(own, nameInput) ?? []));
  const { retries } = readAll(commonInput);
  if (Number(retries) > 0 && !action.idempotent) problems.push(notRepeated(action, nameInput));
  return problems;
}

function notRepeated({ name }: ActionDescription, nameInput: NameInput): string {
  return `${nameInput(RETRIES)}: ${name} is not idempotent, so it is never repeated`;
}

function secretGiven({ env, secret }: InputField, inputs: SecretInputs): GivenValue | undefined {
  const text = secret && Object.hasOwn(inputs, env) ? inputs[env] : undefined;
  return text === undefined ? undefined : { text, from: env };
}
