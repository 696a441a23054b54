import { existsSync } from "node:fs";
import { z } from "zod";
import { catalogue } from "../../actions/catalogue.ts";
import type { ActionReference } from "../../actions/harness/input/reference.ts";
import type { Capability } from "../../shared/bmc/operations/table.ts";
import { ActionResult } from "../../shared/contract/result.ts";
import type { ProviderName } from "../../shared/contract/vocabulary.ts";
import { openFolder } from "../support/folder.ts";
import { TESTED_PROVIDERS, type TestedProvider } from "./lab.ts";
import { capable, incapableProviders, neededCapabilities } from "./needed-capabilities.ts";
import { type Sample, sampleInput } from "./sample-input.ts";

/** An action with what its own example says. */
export interface Subject extends Pick<Sample, "action" | "reference" | "power"> {
  readonly name: string;
  /** Capabilities that the action needs besides power and boot. */
  readonly needed: readonly Capability[];
  /** The tested providers that support the action, and all providers that do not. */
  readonly able: readonly TestedProvider[];
  readonly unable: readonly ProviderName[];
}

/** Every action of the catalogue that has an example. */
export async function findSubjects(): Promise<readonly Subject[]> {
  await using place = await openFolder();
  const { folder } = place;
  const described = catalogue.filter((name) =>
    existsSync(new URL(`../../actions/${name}/reference.ts`, import.meta.url)),
  );
  return await Promise.all(described.map((name) => subjectOf(name, folder)));
}

async function subjectOf(name: string, folder: string): Promise<Subject> {
  const { action, reference, env, power } = await sampleInput(name, folder);
  const connection = { BMC_HOST: "127.0.0.1", BMC_USERNAME: "admin", BMC_PASSWORD: "calvin" };
  const needed = await neededCapabilities(action, { ...connection, ...env });
  const ability = await Promise.all(TESTED_PROVIDERS.map((provider) => capable(provider, needed)));
  const able = TESTED_PROVIDERS.filter((_, index) => ability[index]);
  return { name, action, reference, power, needed, able, unable: await incapableProviders(needed) };
}

/** A result with what every action has and what the reference says, and nothing else. */
export function documentedResult({ output }: ActionReference): z.ZodType {
  const { before: _, after: __, data: ___, ...common } = ActionResult.shape;
  const own = Object.entries(output).map(([name, schema]) => [name, schema.optional()]);
  return z.strictObject({ ...common, ...Object.fromEntries(own) });
}
