import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { type Ironic, startIronic } from "../../test/interop/ironic-server.ts";
import { installPythonPackages } from "../../test/interop/python-packages.ts";
import { alternate, oneLine, type Sample, type Subject } from "./figures.ts";
import { measureOnce } from "./operations.ts";
import type { Order } from "./peer.ts";
import { type Network, startRecorder } from "./recorder.ts";
import type { Section } from "./section.ts";
import { type BmcServer, SERVERS, USERNAME } from "./servers.ts";

const IRONIC = "Ironic";
const ROUNDS = 5;
const LOOK_EVERY_MS = 20;
const LONGEST_MS = 60_000;
const NETWORKS: readonly Network[] = [
  { title: "0 ms", roundTripMs: 0, loss: 0 },
  { title: "20 ms", roundTripMs: 20, loss: 0 },
];
const States = z.object({
  power_state: z.string().nullable(),
  target_power_state: z.string().nullable(),
  last_error: z.string().nullable(),
});

/** A whole Ironic with its `redfish` driver, asked by its API, beside our library in a process that stays. */
export const ironic: Section = {
  name: "ironic",
  title: "Ironic: power on and off by its API",
  charted: /./,
  async run(context) {
    let service: Ironic;
    try {
      service = await startIronic(await installPythonPackages("ironic", ["ironic==39.0.0"]));
    } catch (thrown) {
      const note = `missing: ${oneLine(thrown)}`;
      await context.add("On and off", [{ subject: IRONIC, runs: 0, figures: {}, note }]);
      return;
    }
    const passwordFile = join(context.folder, "password");
    const ours = context.peers.find(({ name }) => name === "@pbnj-worker/bmc");
    try {
      for (const network of NETWORKS) {
        const server = await SERVERS.redfish.start();
        await writeFile(passwordFile, `${server.password}\n`);
        await server.reset("off");
        const recorder = await startRecorder("redfish", server.port, network, 1);
        try {
          const node = `node-${network.roundTripMs}`;
          await manage(service, node, recorder.port, server.password);
          for (const operation of ["on", "off"] as const) {
            const order: Order = {
              protocol: "redfish",
              port: 0,
              username: USERNAME,
              passwordFile,
              cipherSuite: 17,
              operation,
              mediaUrl: "",
              repeat: 2,
            };
            const place = { server, network: { ...network, rounds: ROUNDS } };
            const subjects: Subject[] = [
              ...(ours
                ? [{ name: ours.name, measure: (round: number) => measureOnce(place, ours, order, round) }]
                : []),
              { name: IRONIC, measure: () => measureIronic(service, node, server, recorder, operation) },
            ];
            const rounds = context.quick ? 1 : ROUNDS;
            const rows = await alternate(subjects, { rounds, warmUp: false, deadline: context.deadline });
            await context.add(
              `Power ${operation}, verified, repeated: ${server.title}, ${network.title}`,
              rows,
            );
          }
        } finally {
          await recorder.close();
          await server.close();
        }
      }
    } finally {
      await service.close();
    }
  },
};

async function manage(service: Ironic, name: string, port: number, password: string): Promise<void> {
  await service.manage({
    name,
    driver: "redfish",
    driver_info: {
      redfish_address: `http://127.0.0.1:${port}`,
      redfish_system_id: "/redfish/v1/Systems/1",
      redfish_username: USERNAME,
      redfish_password: password,
      redfish_auth_type: "basic",
    },
  });
}

async function measureIronic(
  service: Ironic,
  node: string,
  server: BmcServer,
  recorder: Awaited<ReturnType<typeof startRecorder>>,
  operation: "on" | "off",
): Promise<Sample> {
  await server.reset(operation);
  recorder.forget();
  const startedMs = performance.now();
  await service.call("PUT", `/nodes/${node}/states/power`, { target: `power ${operation}` });
  const giveUp = AbortSignal.timeout(LONGEST_MS);
  for (;;) {
    const found = States.parse(await service.call("GET", `/nodes/${node}/states`));
    if (found.last_error) throw new Error(found.last_error);
    if (found.target_power_state === null && found.power_state === `power ${operation}`) break;
    await sleep(LOOK_EVERY_MS, undefined, { signal: giveUp });
  }
  const wallMs = performance.now() - startedMs;
  // Its processes also do other work.
  return { wallMs, ...recorder.counts };
}
