import type { Problem } from "../../shared/document/problem.ts";

/** Settings of earlier versions, with what to use in their place. */
const RETIRED: Readonly<Record<string, string>> = {
  shareLanes: "is gone: use leader election, --leader-election (docs/how-to/upgrade-notes.md)",
  shareGroup: "is gone: use --leader-election-lease (docs/how-to/upgrade-notes.md)",
};

const words = (name: string) => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

/** What to say of a key of the configuration file. */
export function retiredKey(name: string): string | undefined {
  return Object.hasOwn(RETIRED, name) ? RETIRED[name] : undefined;
}

/** By flag. */
export const RETIRED_FLAGS: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(RETIRED).map(([name, use]) => [`--${words(name)}`, use]),
);

/** Variables that are still set. */
export function retiredVariables(env: Readonly<Record<string, string | undefined>>): readonly Problem[] {
  return Object.entries(RETIRED).flatMap(([name, message]) => {
    const source = `PBNJ_${words(name).replaceAll("-", "_").toUpperCase()}`;
    return env[source]?.trim() ? [{ source, message }] : [];
  });
}
