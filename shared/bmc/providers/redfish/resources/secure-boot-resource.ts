import * as z from "zod/mini";
import { BmcError } from "../../../../contract/bmc-error.ts";
import {
  SECURE_BOOT_DATABASES,
  type SecureBootDatabase,
  titleOf,
} from "../../../operations/secure-boot-key.ts";
import type { SecureBootMode } from "../../../operations/secureboot.ts";
import { lastPart } from "../service/paths.ts";
import { Link, lenient } from "../service/schema.ts";
import type { Resource } from "../service/service.ts";
import { ListedAction } from "./action-parameters.ts";
import type { Resources } from "./resources.ts";
import { SettingsLink } from "./settings-place.ts";

/** The used fields of SecureBoot (DSP0268). */
export const SecureBoot = z.object({
  "@odata.etag": lenient(z.string()),
  "@Redfish.Settings": SettingsLink,
  SecureBootEnable: lenient(z.boolean()),
  SecureBootCurrentBoot: lenient(z.string()),
  SecureBootMode: lenient(z.string()),
  SecureBootDatabases: lenient(Link),
  Actions: lenient(z.object({ "#SecureBoot.ResetKeys": lenient(ListedAction) })),
});
export type SecureBoot = z.infer<typeof SecureBoot>;

/** SecureBootDatabase (DSP0268). */
const Database = z.object({
  Certificates: lenient(Link),
  Signatures: lenient(Link),
  Actions: lenient(z.object({ "#SecureBootDatabase.ResetKeys": lenient(ListedAction) })),
});
export type Database = z.infer<typeof Database>;

export const SECURE_BOOT_MODES: Readonly<Record<string, SecureBootMode>> = {
  SetupMode: "setup",
  UserMode: "user",
  AuditMode: "audit",
  DeployedMode: "deployed",
};

/** The system's SecureBoot resource; undefined if it has none. */
export async function findSecureBoot(
  { system }: Pick<Resources, "system">,
  signal: AbortSignal,
): Promise<Resource<SecureBoot> | undefined> {
  await system.refresh(signal);
  const path = system.service.localPath(system.last.value.SecureBoot?.["@odata.id"]);
  return path === undefined ? undefined : await system.service.find(path, SecureBoot, signal);
}

/** Paths of the key databases by name. The last part of a member's path is its `Id`, and therefore its `DatabaseId`. */
export async function databasePaths(
  { system, members }: Pick<Resources, "system" | "members">,
  secureBoot: Resource<SecureBoot> | undefined,
  signal: AbortSignal,
): Promise<ReadonlyMap<SecureBootDatabase, string>> {
  const path = system.service.localPath(secureBoot?.value.SecureBootDatabases?.["@odata.id"]);
  const listed = path === undefined ? undefined : await members.list(path, signal);
  const found = new Map<SecureBootDatabase, string>();
  for (const { path: member } of listed ?? []) {
    const name = SECURE_BOOT_DATABASES.find((each) => each === lastPart(member).toLowerCase());
    if (name && !found.has(name)) found.set(name, member);
  }
  if (found.size === 0) throw new BmcError("unsupported", "the BMC lists no Secure Boot databases");
  return found;
}

/** One key database. Throws `unsupported` if the BMC does not have it. */
export async function findDatabase(
  resources: Pick<Resources, "system" | "members">,
  paths: ReadonlyMap<SecureBootDatabase, string>,
  name: SecureBootDatabase,
  signal: AbortSignal,
): Promise<Resource<Database>> {
  const path = paths.get(name);
  const found =
    path === undefined ? undefined : await resources.system.service.findLinked(path, Database, signal);
  if (!found) throw new BmcError("unsupported", `the BMC has no Secure Boot database ${titleOf(name)}`);
  return found;
}
