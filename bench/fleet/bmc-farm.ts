import { z } from "zod";
import { SimulatedMachine } from "../../simulators/machine.ts";
import { startRedfishBmc } from "../../simulators/redfish/bmc.ts";

/** What a farm is told, as JSON in its first argument. */
export const FarmOrder = z.object({
  machines: z.int(),
  password: z.string(),
  latencyMs: z.number(),
  transitionMs: z.number(),
  /** Plain HTTP when absent. */
  certificate: z.optional(z.object({ cert: z.string(), key: z.string() })),
});
export type FarmOrder = z.infer<typeof FarmOrder>;

/** What it says once all its BMCs listen: the port of each. */
export const FarmReady = z.object({ kind: z.literal("farm"), ports: z.array(z.int()) });

/** What it answers to any message: what was done at its machines, and what of that a machine had done to it twice. */
export const FarmCount = z.object({
  kind: z.literal("count"),
  requests: z.int(),
  commands: z.int(),
  repeated: z.int(),
});
export type FarmCount = z.infer<typeof FarmCount>;

/** The program: so many Redfish BMCs, each with a machine that is on. It ends with the process that started it. */
if (import.meta.main) {
  const {
    machines: count,
    password,
    certificate,
    ...times
  } = FarmOrder.parse(JSON.parse(process.argv[2] ?? "{}"));
  const bmcs = await Promise.all(
    Array.from({ length: count }, () => {
      const machine = new SimulatedMachine({ powerOnMs: times.transitionMs, powerOffMs: times.transitionMs });
      const tls = certificate ?? "http";
      return startRedfishBmc({ machines: [machine], tls, password, latencyMs: times.latencyMs });
    }),
  );
  process.on("message", () => {
    const requests = bmcs.reduce((sum, bmc) => sum + bmc.requests.length, 0);
    const commands = bmcs.map(({ machine }) => machine.commands.map(({ action }) => action));
    const repeated = commands.filter((done) => new Set(done).size < done.length).length;
    process.send?.({ kind: "count", requests, commands: commands.flat().length, repeated });
  });
  process.on("disconnect", () => process.exit());
  process.send?.({ kind: "farm", ports: bmcs.map(({ port }) => port) });
}
