import {
  connectionGiven,
  flagOfVariable,
  type GivenName,
  givenNames,
  parseArguments,
} from "../../shared/contract/given.ts";
import { parseImageReference } from "../../shared/contract/image-reference.ts";
import { nearestName } from "../../shared/nearest-name.ts";
import type { Catalogue } from "./catalogue.ts";
import { matchesAnyImage } from "./image-rule.ts";
import type { ImageCommand, JudgedAction, Policy } from "./policy.ts";
import { isTrusted, ownActionOf } from "./trust-rule.ts";

/** The name of the machine whose connection the worker passes. Every image that receives connections accepts it. */
const MACHINE = "MACHINE";
const HELP = "--help";
/** Flags that print something instead of running the action. */
const PRINTED: readonly string[] = ["-h", "-V"];
/** The maximum number of problems. A template may contain many wrong names, and comparing each with every input takes time. */
const MOST_PROBLEMS = 10;
const LONGEST_NAME = 128;

/** Problems with an action's variables and, for an action of this project, with its flags. */
export function environmentProblems(
  action: ImageCommand,
  policy: Policy,
  catalogue: Catalogue,
): readonly string[] {
  const own = ownActionOf(policy, catalogue, action.image);
  const inputs = own === undefined ? [] : catalogue.inputNames();
  const known = isTrusted(policy, action.image) ? [...inputs, MACHINE] : inputs;
  const added = namesAdded(policy, action.image);
  const isAllowed = (variable: string) =>
    known.includes(variable) || added.some((name) => fits(name, variable));
  const refused = givenNames(action).filter(({ name, variable, from }) => {
    // Only the image knows the meaning of its arguments.
    if (from === "command" && (own === undefined || name === HELP)) return false;
    return variable === undefined || !isAllowed(variable);
  });
  const strays = own === undefined ? [] : parseArguments(action.command).strays;
  const problems = [
    ...refused.map((given) => () => describe(given, own, known)),
    ...strays.filter((stray) => !PRINTED.includes(stray)).map((stray) => () => notAFlag(stray, own)),
  ];
  const described = problems.slice(0, MOST_PROBLEMS).map((problem) => problem());
  const more = problems.length - described.length;
  return more > 0 ? [...described, `${more} more are not allowed either`] : described;
}

function notAFlag(argument: string, own: string | undefined): string {
  const shown = JSON.stringify(cut(argument));
  return `${shown} in the template's command is not a flag of ${own}: remove it, the image runs the action by itself`;
}

function cut(text: string): string {
  return text.length > LONGEST_NAME ? `${text.slice(0, LONGEST_NAME)}…` : text;
}

function describe({ name, variable, from }: GivenName, own: string | undefined, known: readonly string[]) {
  const shown = cut(name);
  if (variable === undefined && from === "environment") {
    return `${JSON.stringify(shown)} is not the name of a variable`;
  }
  if (own === undefined) return `${shown} is not allowed for this image`;
  const text = variable === undefined ? JSON.stringify(shown) : shown;
  const nearest = nearestName(name, known);
  const meant = nearest !== undefined && from === "command" ? flagOfVariable(nearest) : nearest;
  const place = from === "command" ? " in the template's command" : "";
  return `${text}${place} is not an input of ${own}${meant === undefined ? "" : `: did you mean ${meant}?`}`;
}

/** The names that the policy adds for an image, including prefixes followed by `*`. */
function namesAdded({ environment }: Policy, image: string): readonly string[] {
  const reference = parseImageReference(image);
  if (!reference) return [];
  return environment.flatMap(({ images, names }) => (matchesAnyImage(images, reference) ? names : []));
}

function fits(name: string, variable: string): boolean {
  return name.endsWith("*") ? variable.startsWith(name.slice(0, -1)) : variable === name;
}

/** Why an action must not use the connection that it was given directly. */
export function ownConnectionProblem(action: JudgedAction, policy: Policy) {
  if (ownConnectionsAllowed(policy)) return undefined;
  if (action.secrets?.bmc) return "directAuthn must not be used: name a machine with externalAuthn";
  const [first] = connectionGiven(action);
  if (first === undefined) return undefined;
  return `${first} must not be set: name a machine with MACHINE`;
}

/**
 * Whether an action may have its own connection. With tenants, an action with its own address could reach every tenant's
 * BMCs.
 */
export function ownConnectionsAllowed({ ownConnections, tenants }: Policy): boolean {
  return (ownConnections ?? (tenants === undefined ? "allow" : "deny")) === "allow";
}
