import { actionLog } from "../features/action-log/action-log-feature.ts";
import { clusterMachines } from "../features/cluster-machines/cluster-machines-feature.ts";
import { drift } from "../features/drift/drift-feature.ts";
import { hardware } from "../features/hardware/hardware-feature.ts";
import { health } from "../features/health/health-feature.ts";
import { legacy } from "../features/legacy/legacy-feature.ts";
import { metal3 } from "../features/metal3/metal3-feature.ts";
import { metrics } from "../features/metrics/metrics-feature.ts";
import { pbnj } from "../features/pbnj/pbnj-feature.ts";
import { rufio } from "../features/rufio/rufio-feature.ts";
import { status } from "../features/status/status-feature.ts";
import { tracing } from "../features/tracing/tracing-feature.ts";
import { wakeUp } from "../features/wake-up/wake-up-feature.ts";

/**
 * All features with their settings, one per line. They are opened in this order: a feature comes after those whose offers it
 * uses.
 */
export const TABLE = [
  status,
  metrics,
  health,
  actionLog,
  tracing,
  legacy,
  clusterMachines,
  metal3,
  wakeUp,
  hardware,
  rufio,
  pbnj,
  drift,
] as const;
