import { stringify } from "yaml";
import { requiredCredentials } from "../../../shared/contract/connection.ts";
import { defined } from "../../../shared/defined.ts";
import { valueProblems } from "../../../shared/document/issue-problems.ts";
import type { Checked, Problem } from "../../../shared/document/problem.ts";
import { printable } from "../../../shared/printable.ts";
import { fileProblemOf, readTextFile } from "../../../shared/read-text-file.ts";
import { readSecretText } from "../../../worker/document/secret-text.ts";
import { MachineEntry, refusedKeys } from "../../../worker/machines/inventory-schema.ts";
import { mergeDefaults } from "../../../worker/machines/merge-defaults.ts";
import { parseEntries } from "../../../worker/machines/parse-inventory.ts";
import type { Imported, ImportedMachine, SecretFile } from "./imported-machine.ts";

const MOST_MACHINES = 50_000;
const HEADER = "# Written by pbnj-worker inventory import.\n";

export interface ComposedInventory {
  readonly text: string;
  readonly secrets: readonly SecretFile[];
  /** The number of machines without a user name, for which the inventory has no credentials. */
  readonly withoutCredentials: number;
}

/**
 * Composes an inventory that refers to secrets in `<folder>/<machine>/`, whether they exist or not. The inventory is valid
 * for the worker; otherwise the problems of all machines are returned, each with its place in the input.
 */
export function composeInventory(
  { machines, defaults, shared }: Pick<Imported, "machines" | "defaults" | "shared">,
  folder: string,
): Checked<ComposedInventory> {
  if (machines.length > MOST_MACHINES) {
    return refused([{ source: "import", message: `more than ${MOST_MACHINES} machines: split the file` }]);
  }
  const problems = [
    ...machines.flatMap((machine) => problemsOf(machine, folder, defaults)),
    ...duplicates(machines),
  ];
  if (problems.length > 0) return refused(problems);

  const passwordFile = `${folder}/{machine}/password`;
  const isShared = machines.every((machine) => hasLogin(machine));
  const common = defaults ? pruned(defaults) : isShared ? { credentials: { passwordFile } } : undefined;
  const inventory = {
    ...(common ? { defaults: common } : {}),
    machines: machines.map((machine) => pruned(inventoryEntry(machine, folder, isShared))),
  };
  const text = HEADER + stringify(inventory, { lineWidth: 0, aliasDuplicateObjects: false });
  const parsed = parseEntries({ path: "inventory", text, env: {}, readFile: readTextFile, alone: true });
  if (!parsed.ok) return parsed;
  const secrets = machines.flatMap(({ name, password, kg }): SecretFile[] => [
    ...(password ? [{ machine: name, file: "password", secret: password } as const] : []),
    ...(kg ? [{ machine: name, file: "kg", secret: kg } as const] : []),
  ]);
  if (shared) secrets.push(shared);
  const withoutCredentials = machines.filter(
    (machine) => !defaults && !hasLogin(machine) && requiredCredentials(machine.entry).length > 0,
  ).length;
  return { ok: true, value: { text, secrets, withoutCredentials }, warnings: [] };
}

function refused(problems: readonly Problem[]) {
  return { ok: false, problems } as const;
}

/**
 * Whether a machine has a complete login. A password file without a user name would be invalid, except for services that
 * need only a token.
 */
function hasLogin({ username, entry }: ImportedMachine): boolean {
  const required = requiredCredentials(entry);
  return required.includes("username") ? username !== undefined : required.length > 0;
}

function inventoryEntry(machine: ImportedMachine, folder: string, isShared: boolean) {
  const { name, entry, username, kg } = machine;
  const passwordFile = hasLogin(machine) && !isShared ? `${folder}/{machine}/password` : undefined;
  const ipmi = entry["ipmi"] as object | undefined;
  return {
    name,
    ...entry,
    ...(kg ? { ipmi: { ...ipmi, kgFile: `${folder}/{machine}/kg` } } : {}),
    credentials: { username, passwordFile },
  };
}

function problemsOf(
  machine: ImportedMachine,
  folder: string,
  defaults: Imported["defaults"],
): readonly Problem[] {
  const { source, username, password, kg } = machine;
  const entry = mergeDefaults(pruned(defaults) ?? {}, inventoryEntry(machine, folder, false));
  const parsed = MachineEntry.safeParse(entry);
  const problems = parsed.success
    ? []
    : valueProblems(MachineEntry, entry, parsed.error.issues, refusedKeys).map(
        ({ path, message }) => `${path.map(String).join(".")} ${message}`,
      );
  const written = JSON.stringify(entry);
  // stdout prints these characters as escapes, which would change what the inventory means.
  if (printable(written) !== written) problems.push("has invisible characters");
  if (password && !hasLogin(machine)) problems.push("a password without a user name");
  for (const [key, value] of Object.entries(
    defined({ username, password: password?.reveal(), kg: kg?.reveal() }),
  )) {
    try {
      readSecretText(value);
    } catch (thrown) {
      problems.push(`the ${key} ${fileProblemOf(thrown)}`);
    }
  }
  return problems.map((message) => ({ source, message }));
}

function duplicates(machines: readonly ImportedMachine[]): readonly Problem[] {
  const first = new Map<string, string>();
  return machines.flatMap(({ name, source }) => {
    const earlier = first.get(name);
    if (earlier === undefined) first.set(name, source);
    return earlier === undefined || name === ""
      ? []
      : [{ source, message: `the name is taken by ${earlier}` }];
  });
}

/** Removes undefined values and maps that hold nothing else. */
function pruned(value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  const kept = Object.entries(value)
    .map(([key, inner]) => [key, pruned(inner)] as const)
    .filter(([, inner]) => inner !== undefined);
  return kept.length === 0 ? undefined : Object.fromEntries(kept);
}
