import { catalogue, loadAction } from "../actions/catalogue.ts";
import type { Action } from "../actions/harness/action.ts";
import { commonFields } from "../actions/harness/input/common-input.ts";
import {
  connectionFieldTable,
  connectionFile,
  machineField,
} from "../actions/harness/input/connection-input.ts";
import { flagOf, type InputField } from "../actions/harness/input/input.ts";
import { defined } from "../shared/defined.ts";
import { outputWidth, tableRows } from "../shared/table.ts";
import { version } from "../shared/version.ts";

/** Loads every action, in the order of the catalogue. */
export async function loadActions(): Promise<readonly Action[]> {
  const loaded = await Promise.all(catalogue.map(loadAction));
  return loaded.filter((action) => action !== undefined);
}

/** Formats one line per action with its name and summary, without a header. */
export function actionsAsTable(actions: readonly Pick<Action, "name" | "summary">[]): string {
  const widest = Math.max(...actions.map(({ name }) => name.length));
  const { row } = tableRows({ widths: [widest, Number.POSITIVE_INFINITY], width: outputWidth() });
  return actions.map(({ name, summary }) => row([name, summary])).join("\n");
}

/** Formats the actions for programs: every action with its inputs, and the common inputs for the connection only once. */
export function actionsAsJson(actions: readonly Action[]): string {
  const described = actions.map((action) => ({
    name: action.name,
    summary: action.summary,
    idempotent: action.idempotent,
    input: [...Object.values(action.input), ...commonFields].map(describeField),
  }));
  const connection = [machineField, connectionFile, ...connectionFieldTable].map(describeField);
  return JSON.stringify({ version, actions: described, connection }, undefined, 2);
}

function describeField(field: InputField) {
  const { env, type, description, default: fallback, required = false, choices, secret = false } = field;
  return {
    env,
    ...(secret ? {} : { flag: flagOf(field) }),
    type,
    description,
    required,
    secret,
    ...defined({ default: fallback, choices }),
  };
}
