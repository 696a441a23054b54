import { flagOf, type InputField } from "./input.ts";

/** What the user said about a field. */
export interface Given {
  readonly text: string;
  /** The flag or variable that gave it. */
  readonly from: string;
}

/** Flags by environment name, which go before the environment. */
export interface ValueSources {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly flags: Readonly<Record<string, string>>;
}

/** What was given for a field; an empty variable counts as not given. */
export function givenFor({ env: name }: Pick<InputField, "env">, sources: ValueSources): Given | undefined {
  const flag = sources.flags[name];
  if (flag !== undefined) return { text: flag, from: flagOf({ env: name }) };
  const text = sources.env[name];
  return text === undefined || text === "" ? undefined : { text, from: name };
}
