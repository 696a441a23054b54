import type { Action } from "../../actions/harness/action.ts";
import { commonFields } from "../../actions/harness/input/common-input.ts";
import {
  connectionFieldTable,
  connectionFile,
  machineField,
} from "../../actions/harness/input/connection-input.ts";
import { flagOf, type InputField } from "../../actions/harness/input/input.ts";
import { defined } from "../../shared/defined.ts";
import type { Flag } from "./flag.ts";

/** Returns the flags of an action in the order of its help. Secrets have no flags. */
export function actionFlags(action: Pick<Action, "input">): readonly Flag[] {
  const connection = [machineField, connectionFile, ...connectionFieldTable];
  const fields: readonly InputField[] = [...Object.values(action.input), ...commonFields, ...connection];
  return [...fields.filter(({ secret }) => !secret).map(flagOfField), ...INVENTORY, HELP];
}

/** The flags that `cli/machines/select-machines.ts` reads. */
const INVENTORY: readonly Flag[] = [
  inventoryFlag("--inventory", "run on machines of this inventory", { paths: "files" }),
  inventoryFlag("--selector", "run on the machines with these labels, such as rack=r12,role!=spare", {}),
  inventoryFlag("--all", "run on every machine of the inventory", { value: "none" }),
  inventoryFlag("--concurrency", "how many machines at a time", { fallback: "50" }),
];

function inventoryFlag(name: string, description: string, special: Partial<Flag>): Flag {
  return { name, description, value: "required", choices: [], list: false, repeatable: false, ...special };
}

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
