import * as z from "zod/mini";
import { ProviderName } from "../../../shared/contract/vocabulary.ts";
import { parseDurationMs } from "../../../shared/duration.ts";
import data from "./connection-fields.json" with { type: "json" };
import { type InputField, type InputType, listItems, readBoolean, readInteger } from "./input.ts";

/** A connection field as environment variable and flag, and where its value belongs in a `Connection`. */
export interface ConnectionField extends InputField<string> {
  readonly path: readonly string[];
  /** Turns the text into what the schema of `Connection` takes; what it cannot turn it leaves for the schema. */
  readonly read: (text: string) => unknown;
}

const asText = (text: string) => text;
const asInteger = (text: string) => readInteger(text) ?? text;

const READERS: Readonly<Record<InputType, (text: string) => unknown>> = {
  text: asText,
  file: asText,
  choice: asText,
  boolean: (text) => readBoolean(text) ?? text,
  integer: asInteger,
  duration: (text) => parseDurationMs(text) ?? text,
  list: (text) => listItems(text.toLowerCase()),
};

/** The file with the whole connection as JSON, which takes the place of all fields below. `-` is stdin. */
export const connectionFile: InputField<string> = {
  env: "BMC_CONNECTION_FILE",
  type: "file",
  description: "A file with the whole connection as JSON, or - for stdin; replaces the variables below",
  schema: z.string(),
};

export const machineField: ConnectionField = {
  env: "MACHINE",
  path: ["machine"],
  type: "text",
  description: "The machine's name, for logs and the result",
  read: asText,
  schema: z.string(),
};

/** The connection, one variable per field. */
export const connectionFieldTable = (data as readonly Omit<ConnectionField, "read" | "schema">[]).map(
  (field): ConnectionField => ({
    ...field,
    ...(field.env === "BMC_PROVIDERS" && { choices: ProviderName.options }),
    // The numbers of cipher suites are a choice, too.
    read: field.env.endsWith("_CIPHER_SUITE") ? asInteger : READERS[field.type],
    schema: z.string(),
  }),
);
