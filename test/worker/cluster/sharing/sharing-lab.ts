import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execa } from "execa";
import { expect, vi } from "vitest";
import type { Logger } from "../../../../shared/logger.ts";
import { FakeCluster, type RbacRule } from "../../../../simulators/kubernetes/cluster.ts";
import { Cluster } from "../../../../worker/cluster/client/cluster.ts";
import { BmcLeases } from "../../../../worker/cluster/sharing/bmc-leases.ts";
import { LaneShares } from "../../../../worker/cluster/sharing/lane-shares.ts";
import { scaledClock } from "../../../support/scaled-clock.ts";
import { GROUP, QUICK } from "./replica-settings.ts";

export const LEASE_API = "coordination.k8s.io/v1";
export const NAMESPACE = "tink-system";
export const WAIT = { timeout: 60_000, interval: 25 } as const;
export interface Replica {
  readonly name: string;
  readonly shares: LaneShares;
  readonly leases: BmcLeases;
  /** What its lanes poll with. */
  readonly polls: ReadonlySet<string>;
  readonly logged: readonly { readonly level: string; readonly message: string; readonly fields: object }[];
  stop(): Promise<void>;
}

export interface LabOptions {
  readonly agentIds?: readonly string[];
}

export type SharingLab = Awaited<ReturnType<typeof startLab>>;

/** An API server on a socket and replicas that share agent IDs by it, in this process or as processes of their own. */
export async function startLab({ agentIds: given = agentIdsTo(40) }: LabOptions = {}) {
  const cluster = await FakeCluster.start({ controllers: false });
  const folder = await mkdtemp(join(tmpdir(), "pbnj-sharing-"));
  const replicas = new Set<Replica>();
  const children = new Set<{ kill(signal: NodeJS.Signals): unknown; ended: Promise<unknown> }>();
  let agentIds = given;
  let files = 0;

  async function kubeconfig(token?: string): Promise<string> {
    const file = join(folder, `kubeconfig-${files++}`);
    const text = cluster.kubeconfig({ namespace: NAMESPACE, ...(token !== undefined && { token }) });
    await writeFile(file, text);
    return file;
  }

  async function start(name: string, { rules }: { rules?: readonly RbacRule[] } = {}): Promise<Replica> {
    const token = rules && cluster.addUser(`system:serviceaccount:${NAMESPACE}:${name}`, rules);
    const client = await Cluster.open({ kubeconfig: await kubeconfig(token) });
    const polls = new Set<string>();
    const logged: { level: string; message: string; fields: object }[] = [];
    const say = (level: string) => (fields: object, message: string) =>
      void logged.push({ level, message, fields });
    const log: Logger = {
      debug: say("debug"),
      info: say("info"),
      warn: say("warn"),
      error: say("error"),
    };
    const stop = new AbortController();
    // While other programs keep the processor, no lease expires.
    const clock = scaledClock(1);
    const shares = new LaneShares({
      cluster: client,
      group: GROUP,
      member: name,
      agentIds: () => agentIds,
      onOwned: async (owns) => {
        polls.clear();
        for (const agentId of agentIds) if (owns(agentId)) polls.add(agentId);
      },
      clock,
      log,
      timings: QUICK,
    });
    const leases = new BmcLeases({ cluster: client, shares, clock, log, timings: QUICK });
    const running = [shares.run(stop.signal), leases.run(stop.signal)];
    const replica: Replica = {
      ...{ name, shares, leases, polls, logged },
      stop: async () => {
        stop.abort(new Error("stopped"));
        await Promise.all(running);
        await leases.close();
        await client.close();
        replicas.delete(replica);
      },
    };
    replicas.add(replica);
    return replica;
  }

  /** A process of its own, of which nothing is left when it is killed. It writes what it owns, line by line. */
  async function startProcess(name: string) {
    const program = join(import.meta.dirname, "../../../system/worker/sharing-replica-program.ts");
    const child = execa(process.execPath, [program, name, await kubeconfig(), agentIds.join(",")], {
      reject: false,
    });
    const lines: { readonly atMs: number; readonly owned: readonly string[] }[] = [];
    child.stdout.setEncoding("utf8");
    let rest = "";
    child.stdout.on("data", (text: string) => {
      const complete = (rest + text).split("\n");
      rest = complete.pop() ?? "";
      for (const line of complete) lines.push(JSON.parse(line));
    });
    const handle = {
      lines,
      owned: () => lines.at(-1)?.owned ?? [],
      kill: (signal: NodeJS.Signals) => child.kill(signal),
      ended: child.then((result) => result),
    };
    children.add(handle);
    return handle;
  }

  return {
    cluster,
    start,
    startProcess,
    agentIds: () => agentIds,
    setAgentIds(next: readonly string[]) {
      agentIds = next;
      for (const { shares } of replicas) shares.agentIdsChanged();
    },
    leases: (role?: string) =>
      cluster.list(
        LEASE_API,
        "Lease",
        NAMESPACE,
        role === undefined ? "" : `pbnj-worker/share-group=${GROUP},pbnj-worker/share=${role}`,
      ),
    /** Until a replica owns a part of the 40 agent IDs. */
    takesPart: ({ shares, logged }: Replica) =>
      vi.waitFor(() => {
        const state = shares.state();
        expect(state.ownedAgentIds, JSON.stringify({ state, logged })).toBeGreaterThan(10);
      }, WAIT),
    /** Until each agent ID has one owner among these, and counts of shards differ by one at most. */
    shared: (...among: readonly Replica[]) =>
      vi.waitFor(() => {
        for (const agentId of agentIds) {
          const owners = among.filter(({ shares }) => shares.owns(agentId)).map(({ name }) => name);
          expect(owners, `owners of ${agentId}`).toHaveLength(1);
          const polling = among.filter(({ polls }) => polls.has(agentId)).map(({ name }) => name);
          expect(polling).toEqual(owners);
        }
        const counts = among.map(({ shares }) => shares.state().ownedShards);
        expect(Math.max(...counts) - Math.min(...counts), `shards of ${counts}`).toBeLessThanOrEqual(1);
      }, WAIT),
    async [Symbol.asyncDispose]() {
      for (const child of children) child.kill("SIGKILL");
      await Promise.all([...children].map(({ ended }) => ended));
      await Promise.all([...replicas].map((replica) => replica.stop()));
      await cluster.close();
      await rm(folder, { recursive: true });
    },
  };
}

export function agentIdsTo(count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => `pbnj-node-${index}`);
}
