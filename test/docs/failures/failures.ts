import { engineFailures } from "./engine-failures.ts";
import type { Failure, Seen } from "./failure.ts";
import { machineFailures } from "./machine-failures.ts";
import { serverFailures } from "./server-failures.ts";
import { Stage } from "./stage.ts";
import { workerFailures } from "./worker-failures.ts";

/** Every failure that the manual shows, each provoked for it. */
export const failures: readonly Failure[] = [
  ...serverFailures,
  ...machineFailures,
  ...engineFailures,
  ...workerFailures,
];

export async function provoked({ provoke }: Failure): Promise<Seen> {
  await using stage = await Stage.open();
  return await provoke(stage);
}
