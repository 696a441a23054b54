import { z } from "zod";

const PLACEHOLDER = "{machine}";

/** What a task's `worker:` may say. The API takes any text; spaces are only ever a mistake. */
export const AgentId = z
  .string()
  .min(1)
  .max(253)
  .regex(/^[^\s\p{Cc}]*$/u, { error: "must be without spaces" });

/** An agent ID with `{machine}` once where the machine's name belongs. */
export const AgentIdPattern = AgentId.refine((pattern) => pattern.split(PLACEHOLDER).length === 2, {
  error: `must contain ${PLACEHOLDER} once`,
});

export function agentIdOf(pattern: string, machineName: string): string {
  return pattern.split(PLACEHOLDER).join(machineName);
}

/** The machine's name in an agent ID of this pattern, whether or not there is such a machine. */
export function machineNameOf(pattern: string, agentId: string): string | undefined {
  const [before = "", after = ""] = pattern.split(PLACEHOLDER);
  const name = agentId.slice(before.length, agentId.length - after.length);
  return name !== "" && agentIdOf(pattern, name) === agentId ? name : undefined;
}

/** Every agent ID to poll with: the fixed ones and one for each machine, without repetition. */
export function agentIdsOf(
  fixed: readonly string[],
  pattern: string,
  machines: readonly { readonly name: string }[],
): readonly string[] {
  return [...new Set([...fixed, ...machines.map(({ name }) => agentIdOf(pattern, name))])];
}
