import type { Target } from "./target.ts";
import { apiTargets } from "./targets/api.ts";
import { biosTargets } from "./targets/bios.ts";
import { bmcTargets } from "./targets/bmc.ts";
import { discoverTargets } from "./targets/discover.ts";
import { documentTargets } from "./targets/documents.ts";
import { inventoryImportTargets } from "./targets/inventory-imports.ts";
import { ipmiTargets } from "./targets/ipmi.ts";
import { outputTargets } from "./targets/output.ts";
import { raidTargets } from "./targets/raid.ts";
import { workerTargets } from "./targets/worker.ts";

/** Every parser and decoder of what strangers write: one row each. */
export const targets: readonly Target[] = [
  ...documentTargets,
  ...inventoryImportTargets,
  ...discoverTargets,
  ...bmcTargets,
  ...biosTargets,
  ...ipmiTargets,
  ...outputTargets,
  ...raidTargets,
  ...workerTargets,
  ...apiTargets,
];
