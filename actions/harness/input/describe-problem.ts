import type * as z from "zod/mini";
import type { GivenValue } from "../../../shared/contract/given.ts";
import { suggestion } from "../../../shared/nearest-name.ts";
import { BOOLEAN_PROBLEM, type InputField, type NameInput } from "./input.ts";

type Issue = z.core.$ZodIssue;

/** Describes an invalid value in one line that names its source. The line never contains a secret. */
export function wrongValue(field: InputField, { from, text }: GivenValue, issues: readonly Issue[]): string {
  return `${from} ${shown(field, text)}${issues.map((issue) => reasonOf(field, text, issue)).join(", ")}`;
}

export function missingValue({ env, description }: InputField, nameInput: NameInput): string {
  return `${nameInput(env)} is missing: ${lowerFirst(description)}`;
}

/** Returns the schema's message, which is usually worded to follow the name of the value. */
export function describeIssue({ message }: Issue): string {
  const follows = /^(is|are|must|has|holds|names|cannot)\b/.test(message);
  return follows ? message : `is wrong: ${lowerFirst(message)}`;
}

function reasonOf({ choices, type }: InputField, text: string, issue: Issue): string {
  if (type === "boolean") return BOOLEAN_PROBLEM;
  // A list has rules of its own besides the rules of its items.
  const isOfList = type === "list" && issue.code === "custom";
  if (!choices || isOfList) return describeIssue(issue);
  const item = type === "list" ? text.split(",")[Number(issue.path.at(-1))]?.trim() : text;
  return `is not one of ${choices.join(", ")}${suggestion(item ?? "", choices)}`;
}

function shown(field: InputField, text: string): string {
  // The value is not quoted, because a pasted `user:password@host` must not end up in a log.
  return field.secret || field.type === "file" || text.includes("@") ? "" : `${JSON.stringify(text)} `;
}

function lowerFirst(text: string): string {
  // An abbreviation such as URL keeps its capitals.
  return /^\p{Lu}{2}/u.test(text) ? text : text.charAt(0).toLowerCase() + text.slice(1);
}
