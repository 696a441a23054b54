import type { Action } from "../../actions/harness/action.ts";
import { commonFields } from "../../actions/harness/input/common-input.ts";
import { connectionFieldTable, connectionFile } from "../../actions/harness/input/connection-input.ts";
import { flagOf, type InputField } from "../../actions/harness/input/input.ts";
import { INVENTORY_FLAGS } from "../../actions/inventory-flags.ts";
import { defined } from "../../shared/defined.ts";
import type { Flag } from "./flag.ts";

/** Returns the flags of an action in the order of its help. Secrets have no flags. */
export function actionFlags(action: Pick<Action, "input">): readonly Flag[] {
  // `--machine` is that of the inventory, which describes the connection's too.
  const connection = [connectionFile, ...connectionFieldTable];
  const fields: readonly InputField[] = [...Object.values(action.input), ...commonFields, ...connection];
  return [...fields.filter(({ secret }) => !secret).map(flagOfField), ...inventoryFlags, HELP];
}

const inventoryFlags = INVENTORY_FLAGS.map(
  ({ name, value, description, default: fallback }): Flag => ({
    name,
    description,
    value: value === undefined ? "none" : "required",
    choices: [],
    list: false,
    repeatable: name === "--machine",
    ...defined({ fallback }),
    ...(value === "file" ? { paths: "files" } : {}),
  }),
);

const HELP: Flag = {
  name: "--help",
  description: "show what the action takes",
  value: "none",
  choices: [],
  list: false,
  repeatable: false,
};

function flagOfField(field: InputField): Flag {
  const isBoolean = field.type === "boolean";
  return {
    name: flagOf(field),
    description: field.description,
    value: isBoolean ? "optional" : "required",
    choices: isBoolean ? ["true", "false"] : (field.choices ?? []),
    list: field.type === "list",
    ...defined({ fallback: field.default }),
    ...(field.type === "file" ? { paths: "files" } : {}),
    repeatable: false,
  };
}
