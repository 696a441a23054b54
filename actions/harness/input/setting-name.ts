import {
  flagOfVariable,
  givenValue,
  isConnectionVariable,
  type ValueSources,
} from "../../../shared/contract/given.ts";
import { inventoryLine, type NameOption } from "../../../shared/contract/name-option.ts";
import { connectionFieldTable, connectionFile } from "./connection-input.ts";
import type { NameInput } from "./input.ts";

/**
 * Returns a function that names inputs: an input that is given is named in the form in which it was given, and other inputs
 * in the form of the given ones. Connection fields follow the form of the connection.
 */
export function nameInputs(sources: ValueSources): NameInput {
  const { env, flags } = sources;
  const byFlag = Object.keys(flags);
  const connectionByFlag = byFlag.some(isConnectionVariable);
  const connectionByVariable = Object.keys(env).some((name) => isConnectionVariable(name) && env[name]);
  return (variable, value) => {
    const given = givenValue(variable, sources);
    const prefersFlags =
      isConnectionVariable(variable) && (connectionByFlag || connectionByVariable)
        ? connectionByFlag
        : byFlag.length > 0;
    const isFlag = given ? given.from !== variable : prefersFlags;
    const name = isFlag ? flagOfVariable(variable) : variable;
    if (value === undefined || (isFlag && value === "true")) return name;
    return `${name}${isFlag ? " " : "="}${value}`;
  };
}

/** Returns a function that names an option of the connection. Options of a connection file have the names of the inventory. */
export function nameOptions(sources: ValueSources): NameOption {
  if (givenValue(connectionFile.env, sources)) return inventoryLine;
  const nameInput = nameInputs(sources);
  return (option, value) => {
    const field = connectionFieldTable.find(({ path }) => path.join(".") === option);
    return field ? nameInput(field.env, value) : option;
  };
}
