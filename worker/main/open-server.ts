import type { Clock } from "../../shared/clock.ts";
import type { Logger } from "../../shared/logger.ts";
import { machineNameOf } from "../machines/agent-id.ts";
import type { Inventory } from "../machines/inventory.ts";
import { connectTinkServer, type TinkServer } from "../sources/server/tink-server.ts";
import type { FeatureParts } from "./open-features.ts";
import type { WorkerConfig } from "./settings.ts";

interface ServerNeeds {
  readonly features: FeatureParts;
  readonly inventory: Inventory;
  /** Absent without leader election. */
  readonly leadership: { readonly isLeading: boolean } | undefined;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Opens the tink server if the settings name one. Polls report the hardware of the machine with their agent ID. */
export function openServer(
  { server, agentAttributes, agentIdPattern, backoffMaxIntervalMs }: WorkerConfig,
  { features, inventory, leadership, clock, log }: ServerNeeds,
): TinkServer | undefined {
  const parts = features.of("server");
  const legacy = parts.find(({ api }) => api)?.api;
  if (!server || !legacy) return undefined;
  const waking = parts.find((part) => part.waking)?.waking;
  const deletions = parts.find((part) => part.deletions)?.deletions;
  const known = agentAttributes ? features.offers.hardware : undefined;
  const machineOf = (agentId: string) => {
    const name = machineNameOf(agentIdPattern, agentId);
    return name === undefined ? undefined : inventory.find(name)?.name;
  };
  return connectTinkServer({
    ...server,
    legacy,
    deletions,
    waking,
    clock,
    log,
    maxBackoffMs: backoffMaxIntervalMs,
    isLeading: () => leadership?.isLeading ?? true,
    isShared: leadership !== undefined,
    hardware: {
      of(agentId) {
        const machine = machineOf(agentId);
        return machine === undefined ? undefined : known?.find(machine)?.hardware;
      },
      awaited(agentId) {
        const machine = machineOf(agentId);
        return machine === undefined ? undefined : known?.awaited(machine);
      },
    },
  });
}
