import { dirname, resolve } from "node:path";
import { z } from "zod";
import { BmcError } from "../../shared/contract/bmc-error.ts";
import { valueProblems } from "../../shared/document/issue-problems.ts";
import { formatProblem } from "../../shared/document/problem.ts";
import { parseYaml } from "../../shared/document/yaml-document.ts";
import { Secret } from "../../shared/secret.ts";
import { absoluteEntry } from "../../worker/machines/absolute-entry.ts";
import { readCredentials } from "../../worker/machines/credentials.ts";
import { type Credentials, MachineEntry } from "../../worker/machines/inventory-schema.ts";
import { SecretCommands } from "../../worker/machines/secret-commands.ts";
import { inventoryText } from "../machines/select-machines.ts";

const MOST_CANDIDATES = 100;
const REFUSED_KEYS = {
  password:
    "is a secret and must not be in this file: put it into a file and name that with passwordFile, or a variable with passwordEnv",
};

/** A user name and password to try, and where they come from. */
export interface Candidate {
  /** The position in the file, counted from 1. */
  readonly number: number;
  /** Where the credentials come from, in the inventory's form with absolute paths. */
  readonly source: Credentials;
  readonly username: string;
  readonly password: Secret;
}

const CandidatesFile = z.strictObject({
  credentials: z.array(z.unknown()).min(1).max(MOST_CANDIDATES),
});

/**
 * Reads the file of `--credentials` and the secrets that it names. Adds what is wrong to `problems`. A pair of user name and
 * password that occurred before is left out, because each pair is tried once.
 */
export async function readCandidates(
  path: string,
  env: Readonly<Record<string, string | undefined>>,
  problems: string[],
  signal: AbortSignal,
): Promise<readonly Candidate[]> {
  const text = inventoryText(path, problems, "--credentials");
  if (text === undefined) return [];
  const yaml = parseYaml(path, text);
  if (!yaml.ok) {
    problems.push(...yaml.problems.map(formatProblem));
    return [];
  }
  const { value, sourceOf } = yaml.value;
  const refuse = (base: readonly PropertyKey[], found: ReturnType<typeof valueProblems>) =>
    problems.push(
      ...found.map(({ path: at, message }) => {
        const key = at.map(String).join(".") || (base.length > 0 ? "the entry" : "the file");
        return `${sourceOf([...base, ...at])}: ${key} ${message}`;
      }),
    );
  const file = CandidatesFile.safeParse(value ?? {});
  if (!file.success) {
    refuse([], valueProblems(CandidatesFile, value ?? {}, file.error.issues, REFUSED_KEYS));
    return [];
  }
  const candidates: Candidate[] = [];
  for (const [index, credentials] of file.data.credentials.entries()) {
    // Only the credentials of this connection are used.
    const written = { name: "candidate", host: "candidate", credentials };
    const parsed = MachineEntry.safeParse(written);
    if (!parsed.success) {
      const found = valueProblems(MachineEntry, written, parsed.error.issues, REFUSED_KEYS);
      const own = found.map((problem) => ({ ...problem, path: problem.path.slice(1) }));
      refuse(["credentials", index], own);
      continue;
    }
    const entry = absoluteEntry(parsed.data, dirname(resolve(path)));
    try {
      const commands = new SecretCommands();
      const { username, password } = await readCredentials(entry, { env, commands, signal });
      if (username === undefined || password === undefined) {
        throw new BmcError("usage", "has no user name and password");
      }
      const isKnown = candidates.some(
        (known) => known.username === username && known.password.reveal() === password,
      );
      if (isKnown) continue;
      const source = entry.credentials;
      candidates.push({ number: index + 1, source, username, password: new Secret(password) });
    } catch (thrown) {
      signal.throwIfAborted();
      problems.push(`${sourceOf(["credentials", index])}: ${BmcError.from(thrown).message}`);
    }
  }
  return candidates;
}
