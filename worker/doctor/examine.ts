import { defined } from "../../shared/defined.ts";
import type { Problem } from "../../shared/document/problem.ts";
import { readTextFile } from "../../shared/read-text-file.ts";
import { parseInventory } from "../machines/parse-inventory.ts";
import { type ExaminedConfig, examineConfig } from "../main/load-config.ts";

/** The configuration, and which files contain secrets. */
export interface Examined extends ExaminedConfig {
  /** Paths of files with one secret each, named by the inventory or by settings. */
  readonly secretFiles: readonly string[];
  /** Warnings about the inventory itself, and about the secrets that it names. */
  readonly inventoryWarnings: readonly Problem[];
  readonly secretWarnings: readonly Problem[];
}

/** Whether a file is public. A CA bundle is read like a secret but is public unless it contains a key. */
function isPublic(text: string): boolean {
  return /-----BEGIN CERTIFICATE-----/.test(text) && !/-----BEGIN [A-Z ]*PRIVATE KEY-----/.test(text);
}

export function examine(
  flags: Readonly<Record<string, unknown>>,
  env: Readonly<Record<string, string | undefined>>,
  actions?: readonly string[],
): Examined {
  const read = new Map<string, string>();
  const examined = examineConfig({
    flags,
    env,
    ...defined({ actions }),
    readFile: (path) => {
      const text = readTextFile(path);
      read.set(path, text);
      return text;
    },
  });
  const { settings, found, given } = examined;
  const { watched } = examined.config;
  const configuration = given.get("config")?.value;
  const others = [configuration, settings.inventory, settings.policy, settings.pbnjJwtKeyFile];
  const secretFiles = [...read].flatMap(([path, text]) =>
    others.includes(path) || isPublic(text) ? [] : [path],
  );
  const inventoryWarnings = watched.inventory ? warningsOfItself(watched.inventory, env) : [];
  const own = new Set(inventoryWarnings.map(({ source, message }) => `${source} ${message}`));
  const secretWarnings = found.inventory.warnings.filter(
    ({ source, message }) => !own.has(`${source} ${message}`),
  );
  return { ...examined, secretFiles, inventoryWarnings, secretWarnings };
}

function warningsOfItself(
  { path, text }: { readonly path: string; readonly text: string },
  env: Readonly<Record<string, string | undefined>>,
): readonly Problem[] {
  const parsed = parseInventory({ path, text, env, readFile: readTextFile, alone: true });
  return parsed.ok ? parsed.warnings : [];
}
