import * as z from "zod/mini";
import { parseDurationMs } from "../../../shared/duration.ts";
import { connectionFields } from "./connection-fields.ts";
import { type InputField, type InputType, listItems, readBoolean, readInteger } from "./input.ts";

/** A connection field as an environment variable and flag, and its place in a `Connection`. */
export interface ConnectionField extends InputField<string> {
  readonly path: readonly string[];
  /** Converts the text to the input of the schema `Connection`. Text that it cannot convert is left for the schema to reject. */
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

/** The file with the whole connection as JSON, which replaces all fields below. `-` is stdin. */
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

export const connectionFieldTable = connectionFields.map(
  ({ isNumber, ...field }): ConnectionField => ({
    ...field,
    read: isNumber ? asInteger : READERS[field.type],
    schema: z.string(),
  }),
);
