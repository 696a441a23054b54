import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { OPERATIONS, operationNames } from "../../scripts/performance/operations.ts";
import { alternate, oneLine, type Row, type Sample, type Subject } from "./figures.ts";
import type { Order } from "./peer.ts";
import { type Network, startRecorder } from "./recorder.ts";
import { runChild } from "./run-child.ts";
import type { InstalledPeer, Section, SectionContext } from "./section.ts";
import { type BmcServer, SERVERS, startMediaServer, USERNAME } from "./servers.ts";

/** How often `repeated` runs an operation after the first time, over the same connection. */
const REPEATED = 2;
const LONGEST_MS = 60_000;

const LAN: Network = { title: "0 ms", roundTripMs: 0, loss: 0 };
type MeasuredNetwork = Network & { readonly rounds: number };

/** Every operation of every peer, first and repeated, against every server. */
export const operations = operationsOver("operations", "BMC operations", [
  { ...LAN, rounds: 3 },
  { title: "20 ms", roundTripMs: 20, loss: 0, rounds: 3 },
]);
export const lossy = operationsOver("loss", "BMC operations with 1 % loss", [
  { title: "20 ms, 1 % loss", roundTripMs: 20, loss: 0.01, rounds: 4 },
]);
export const far = operationsOver("far", "BMC operations at a round trip of 200 ms", [
  { title: "200 ms", roundTripMs: 200, loss: 0, rounds: 2 },
]);

function operationsOver(name: string, title: string, networks: readonly MeasuredNetwork[]): Section {
  const charted = /first: .* simulator, 20 ms$/;
  return { name, title, charted, run: (context) => measureNetworks(context, networks) };
}

async function measureNetworks(context: SectionContext, networks: readonly MeasuredNetwork[]): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "pbnj-worker-bench-"));
  const media = await startMediaServer();
  try {
    // Servers of others only without delay: what a delay adds does not depend on them.
    for (const network of networks) {
      for (const [name, kind] of Object.entries(SERVERS)) {
        if (name !== kind.protocol && network.roundTripMs > 0) continue;
        let server: BmcServer;
        try {
          server = await kind.start();
        } catch (thrown) {
          const note = `missing: ${oneLine(thrown)}`;
          await context.add(kind.title, [{ subject: kind.title, runs: 0, figures: {}, note }]);
          continue;
        }
        try {
          await measureServer({ context, server, network, folder, mediaUrl: media.url });
        } finally {
          await server.close();
        }
      }
    }
  } finally {
    media.close();
    await rm(folder, { recursive: true, force: true });
  }
}

interface Place {
  readonly context: SectionContext;
  readonly server: BmcServer;
  readonly network: MeasuredNetwork;
  readonly folder: string;
  readonly mediaUrl: string;
}

async function measureServer(place: Place): Promise<void> {
  const { context, server, network } = place;
  const passwordFile = join(place.folder, "password");
  await writeFile(passwordFile, `${server.password}\n`);
  const { protocol, cipherSuite } = server;
  for (const operation of operationNames) {
    if (operation === "insert-media" && protocol === "ipmi") continue;
    const order = {
      protocol,
      cipherSuite,
      username: USERNAME,
      passwordFile,
      operation,
      mediaUrl: place.mediaUrl,
    };
    for (const repeated of [false, true]) {
      const title = `${OPERATIONS[operation].title}, ${repeated ? "repeated" : "first"}: ${server.title}, ${network.title}`;
      const { subjects, others } = subjectsOf(place, {
        ...order,
        port: 0,
        repeat: repeated ? 1 + REPEATED : 1,
      });
      const { deadline, quick } = context;
      const rounds = quick ? 1 : network.rounds;
      const rows = await alternate(subjects, {
        rounds,
        warmUp: !quick && network.roundTripMs === 0,
        deadline,
      });
      const rank = ({ subject }: Row) => context.peers.findIndex(({ name }) => name === subject);
      await context.add(
        title,
        [...rows, ...others].toSorted((a, b) => rank(a) - rank(b)),
      );
    }
  }
}

function subjectsOf(
  place: Place,
  order: Order,
): { readonly subjects: readonly Subject[]; readonly others: readonly Row[] } {
  const subjects: Subject[] = [];
  const others: Row[] = [];
  for (const peer of place.context.peers) {
    if (!peer.protocols.includes(order.protocol)) continue;
    const note = reasonAgainst(peer, order);
    if (note === undefined) {
      subjects.push({ name: peer.name, measure: (round) => measureOnce(place, peer, order, round) });
    } else others.push({ subject: peer.name, runs: 0, figures: {}, note });
  }
  return { subjects, others };
}

function reasonAgainst(peer: InstalledPeer, { operation, repeat }: Order): string | undefined {
  const lack = peer.lacks?.[operation];
  if (lack !== undefined) return `not offered: ${lack}`;
  if (repeat > 1 && !peer.repeats) return "not offered: every run is a first one";
  return peer.missing === undefined ? undefined : `missing: ${peer.missing}`;
}

/** One run of a peer, on its way through a recorder; with `repeat` above 1, the mean of what comes after the first time. */
export async function measureOnce(
  place: Pick<Place, "server" | "network">,
  peer: InstalledPeer,
  order: Order,
  round: number,
): Promise<Sample> {
  const { server, network } = place;
  const { operation, repeat } = order;
  const { installed } = peer;
  if (!installed) throw new Error("missing");
  await server.reset(operation);
  const recorder = await startRecorder(server.protocol, server.port, network, round + 1);
  const repeatedSamples: Sample[] = [];
  try {
    const command = installed.command({ ...order, port: recorder.port });
    const run = await runChild(command, LONGEST_MS, async ({ text, wallMs, cpuMs }, index) => {
      const found = installed.read?.(text, order) ?? text;
      if (!OPERATIONS[operation].result.test(found)) throw new Error(`answered ${found}`);
      if (index > 0)
        repeatedSamples.push({ wallMs, ...(cpuMs !== undefined && { cpuMs }), ...recorder.counts });
      if (index + 1 >= repeat) return false;
      await server.reset(operation);
      recorder.forget();
      return true;
    });
    if (run.exitCode !== 0) throw new Error(`exit code ${run.exitCode}: ${run.stderr}`);
    if (run.lines.length < repeat) throw new Error(`${run.lines.length} of ${repeat} results`);
    // Below it a peak is that of the program which measures.
    const memory = run.peakBytes > run.leastBytes ? { peakBytes: run.peakBytes } : {};
    if (repeat === 1) return { wallMs: run.wallMs, cpuMs: run.cpuMs, ...memory, ...recorder.counts };
    return { ...meanOf(repeatedSamples), ...memory };
  } finally {
    // A logout that is still on its way must arrive: the BMC would keep the session, and run out of them.
    await sleep(2 * network.roundTripMs);
    await recorder.close();
  }
}

function meanOf(samples: readonly Sample[]): Sample {
  const metrics = Object.keys(samples[0] ?? {}) as (keyof Sample)[];
  return Object.fromEntries(
    metrics.map((metric) => {
      const values = samples.flatMap((sample) => sample[metric] ?? []);
      return [metric, values.reduce((sum, value) => sum + value, 0) / values.length];
    }),
  );
}
