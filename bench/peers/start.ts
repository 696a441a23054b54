import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { findContainerEngine } from "../../scripts/images/container-engine.ts";
import { buildSubjects } from "../container-start.ts";
import { alternate, oneLine, type Row, type Sample, type Subject } from "./figures.ts";
import type { Order } from "./peer.ts";
import { startRecorder } from "./recorder.ts";
import { type Command, runChild } from "./run-child.ts";
import type { Section } from "./section.ts";
import { type BmcServer, SERVERS, USERNAME } from "./servers.ts";

const ROUNDS = 5;
const LONGEST_MS = 60_000;
const NETWORK = { title: "0 ms", roundTripMs: 0, loss: 0 };
const DOCKER = "pbnj-worker, docker run";

/** From the start of a process to its first packet, and to its end, for one reading of the power. */
export const start: Section = {
  name: "start",
  title: "Start: from the process to the first packet and to the end",
  charted: /./,
  async run(context) {
    const passwordFile = join(context.folder, "password");
    for (const kind of [SERVERS.redfish, SERVERS.ipmi]) {
      const server = await kind.start();
      await writeFile(passwordFile, `${server.password}\n`);
      const { protocol, cipherSuite } = server;
      const order: Omit<Order, "port"> = {
        protocol,
        cipherSuite,
        username: USERNAME,
        passwordFile,
        mediaUrl: "",
        operation: "state",
        repeat: 1,
      };
      const subjects: Subject[] = [];
      const missing: Row[] = [];
      const add = (name: string, commandFor: (port: number) => Command, isWhole: boolean) =>
        subjects.push({ name, measure: () => measureStart(server, commandFor, isWhole) });
      for (const { name, protocols, installed, missing: reason } of context.peers) {
        if (!protocols.includes(protocol)) continue;
        if (installed) add(name, (port) => installed.command({ ...order, port }), true);
        else missing.push({ subject: name, runs: 0, figures: {}, note: `missing: ${reason}` });
      }
      try {
        const engine = await findContainerEngine();
        const { image } = await buildSubjects(engine);
        add(DOCKER, (port) => dockerCommand(engine.program, image, { ...order, port }), false);
      } catch (thrown) {
        missing.push({ subject: DOCKER, runs: 0, figures: {}, note: `missing: ${oneLine(thrown)}` });
      }
      try {
        const rounds = context.quick ? 1 : ROUNDS;
        const rows = await alternate(subjects, {
          rounds,
          warmUp: !context.quick,
          deadline: context.deadline,
        });
        await context.add(`Power state by ${protocol}`, [...rows, ...missing]);
      } finally {
        await server.close();
      }
    }
  },
};

/** `isWhole`: all of its work is done by processes that it waits for, and not by a daemon. */
async function measureStart(
  { protocol, port }: BmcServer,
  commandFor: (port: number) => Command,
  isWhole: boolean,
): Promise<Sample> {
  const recorder = await startRecorder(protocol, port, NETWORK, 1);
  try {
    const run = await runChild(commandFor(recorder.port), LONGEST_MS);
    if (run.exitCode !== 0) throw new Error(`exit code ${run.exitCode}: ${run.stderr}`);
    if (recorder.firstMs === undefined) throw new Error("sent nothing");
    const firstPacketMs = recorder.firstMs - run.startedMs;
    return { wallMs: run.wallMs, firstPacketMs, ...(isWhole && { cpuMs: run.cpuMs }) };
  } finally {
    await recorder.close();
  }
}

function dockerCommand(program: string, image: string, order: Order): Command {
  const environment = {
    BMC_HOST: "127.0.0.1",
    BMC_USERNAME: order.username,
    BMC_PASSWORD_FILE: "/run/secrets/password",
    BMC_PROVIDERS: order.protocol,
    REDFISH_SCHEME: "http",
    [`${order.protocol.toUpperCase()}_PORT`]: String(order.port),
  };
  const given = Object.entries(environment).flatMap(([name, value]) => ["--env", `${name}=${value}`]);
  const volume = ["--user", "0", "--volume", `${order.passwordFile}:/run/secrets/password:ro`];
  return { argv: [program, "run", "--rm", "--network", "host", ...volume, ...given, image], env: {} };
}
