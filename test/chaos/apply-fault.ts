import { setTimeout as sleep } from "node:timers/promises";
import { REMEMBER_MS } from "../../worker/core/action/action-journal.ts";
import type { PlannedFault } from "./fault-plan.ts";
import type { Lab, LabWorker } from "./lab.ts";
import type { Finding } from "./records.ts";
import { planFlood } from "./workload.ts";

/** Longer than a worker's grace for what it runs, and what cancelling that takes. */
export const STOP_PATIENCE_MS = 35_000;
/** Far beyond the hour after which a worker takes what is beyond its time for abandoned: that hour is no wall clock's. */
const MOST_OFFSET_MS = 12 * 60 * 60_000;

const READ_ONLY_TRIES = 10;

/** A time in which a worker that starts may refuse to, because what it needs is broken. */
interface Trouble {
  readonly workers: readonly string[];
  readonly fromMs: number;
  toMs: number;
}

/** Carries faults out on a lab, each for its time, beside each other. */
export class FaultRunner {
  readonly findings: Finding[] = [];
  readonly troubles: Trouble[] = [];
  /** By worker, how many actions were ended by force: those have not logged out. */
  readonly actionsKilled = new Map<string, number>();
  /** When the clock jumped further than workers remember what they acknowledged. */
  readonly longJumps: number[] = [];
  readonly counts = new Map<string, number>();
  readonly #lab: Lab;
  readonly #note: (line: string) => void;
  readonly #running = new Set<Promise<void>>();
  #clockOffsetMs = 0;
  readonly #turns = new Map<string, Promise<void>>();
  #floods = 0;

  /** `note` is given a line for each fault as it begins. */
  constructor(lab: Lab, note: (line: string) => void) {
    this.#lab = lab;
    this.#note = note;
  }

  /** Begins it, and does not wait for its end. */
  begin(fault: PlannedFault): void {
    const kind = fault.kind === "BMC fault" ? `BMC ${fault.fault.kind}` : fault.kind;
    this.counts.set(kind, (this.counts.get(kind) ?? 0) + 1);
    this.#note(JSON.stringify({ time: new Date().toISOString(), ...fault }));
    const carriedOut = this.#carryOut(fault)
      .catch((thrown: unknown) => {
        // The run could not do what it planned: its figures mean nothing then.
        this.findings.push({ rule: "the run itself", text: `${kind}: ${String(thrown)}` });
      })
      .finally(() => this.#running.delete(carriedOut));
    this.#running.add(carriedOut);
  }

  /** Resolves when nothing goes wrong any more and everything is there again. */
  async calm(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
    await this.#lab.tink({ kind: "heal" });
    await this.#lab.healBmcs();
    await this.#lab.cluster?.({ kind: "heal" });
    for (const { process } of this.#lab.workers) process.start();
  }

  async #carryOut(fault: PlannedFault): Promise<void> {
    const lab = this.#lab;
    switch (fault.kind) {
      case "worker killed": {
        const { process } = this.#worker(fault.worker);
        await process.kill();
        await sleep(fault.downMs);
        return process.start();
      }
      case "worker stopped": {
        const { process, name } = this.#worker(fault.worker);
        if (!(await process.stop(STOP_PATIENCE_MS))) {
          const text = `${name} had not ended ${STOP_PATIENCE_MS / 1_000} s after SIGTERM`;
          this.findings.push({ rule: "a worker that is told to stop ends", text });
        }
        await sleep(fault.downMs);
        return process.start();
      }
      case "worker frozen":
        return this.#worker(fault.worker).process.freeze(fault.forMs);
      case "server down":
        await lab.tink({ kind: "stop", how: fault.how });
        await sleep(fault.forMs);
        return lab.tink({ kind: "start" });
      case "server restored":
        await lab.tink({ kind: "back-up" });
        await sleep(fault.ageMs);
        await lab.tink({ kind: "stop", how: "cut" });
        await lab.tink({ kind: "restore", database: fault.database });
        return lab.tink({ kind: "start" });
      case "connections cut":
        return lab.tink({ kind: "drop", how: fault.how });
      case "calls held":
      case "calls refused":
      case "acknowledgements lost":
        return lab.tink(fault.order);
      case "BMC fault":
        return lab.hurtBmc({ kind: "hurt", machine: fault.machine, fault: fault.fault });
      case "disk full": {
        const { disk } = this.#worker(fault.worker);
        if (!disk) return;
        return this.#inTurn(disk.path, () =>
          this.#inTrouble(
            [fault.worker],
            fault.forMs,
            () => disk.fill(),
            () => disk.free(),
          ),
        );
      }
      case "disk read-only": {
        const { disk, process } = this.#worker(fault.worker);
        if (!disk) return;
        const begin = async () => {
          // Actions that are left may still write.
          for (let tries = 0; tries < READ_ONLY_TRIES && !(await disk.setReadOnly(true)); tries += 1)
            await sleep(200);
          process.start();
        };
        return this.#inTurn(disk.path, async () => {
          await process.kill();
          const end = async () => void (await disk.setReadOnly(false));
          return this.#inTrouble([fault.worker], fault.forMs, begin, end);
        });
      }
      case "names unresolved": {
        const { names } = this.#worker(fault.worker);
        if (!names) return;
        await names.lose();
        await sleep(fault.forMs);
        return names.find();
      }
      case "certificate changed": {
        const fingerprint = await lab.changeCertificate(fault.machine);
        await sleep(fault.forMs);
        return this.#workerOf(fault.machine).inventory.pin(fault.machine, fingerprint);
      }
      case "engine restarted": {
        const { engine, workers } = lab;
        if (!engine) return;
        const inContainers = workers.filter(({ runtime }) => runtime === "docker");
        const restarted = this.#inTurn("engine", async () => {
          for (const worker of inContainers) this.#killed(worker.name, await lab.actionsOf(worker));
          await engine.restart(fault.how, fault.downMs);
        });
        const names = inContainers.map(({ name }) => name);
        return this.#inTrouble(names, 0, () => restarted);
      }
      case "API server unreachable": {
        const { workers: replicas, forMs } = fault;
        return this.#inTrouble(
          replicas,
          forMs,
          async () => lab.cluster?.({ kind: "cut-off", replicas }),
          async () => lab.cluster?.({ kind: "connect", replicas }),
        );
      }
      case "API calls refused":
        return lab.cluster?.({ kind: "refuse", status: fault.status, times: fault.times });
      case "API answers lost":
        return lab.cluster?.({ kind: "lose-answers", times: fault.times });
      case "watches broken":
        return lab.cluster?.({ kind: "break-watches", silently: fault.silently });
      case "output flood": {
        const { name, machines, sharedAgentId } = this.#worker(fault.worker);
        this.#floods += 1;
        const flood = planFlood(`flood-${name}-${this.#floods}`, sharedAgentId, machines[0]?.name ?? "");
        return lab.tink({ kind: "submit", ...flood });
      }
      case "action killed": {
        const worker = this.#worker(fault.worker);
        const kill = async () => {
          if (await lab.killAction(worker)) this.#killed(worker.name, 1);
        };
        // An engine that is away kills nothing.
        return this.#inTurn("engine", () => this.#inTrouble(worker.replicas, 0, kill));
      }
      case "second worker": {
        const { name, process } = this.#worker(fault.worker);
        if (!process.running) return;
        return this.#inTrouble([name], 0, async () => {
          if (await process.startSecond(STOP_PATIENCE_MS)) return;
          const text = `a second ${name} did not refuse to run within ${STOP_PATIENCE_MS / 1_000} s`;
          this.findings.push({ rule: "one worker a directory", text });
        });
      }
      case "clock jumps": {
        // The workers share a machine, and so a clock.
        const offsetMs = this.#clockOffsetMs + fault.byMs;
        this.#clockOffsetMs = Math.max(-MOST_OFFSET_MS, Math.min(offsetMs, MOST_OFFSET_MS));
        if (Math.abs(fault.byMs) > REMEMBER_MS) this.longJumps.push(Date.now());
        for (const { process } of lab.workers) process.setClock(this.#clockOffsetMs);
        return;
      }
      case "machine taken out": {
        const { inventory } = this.#workerOf(fault.machine);
        await inventory.takeOut(fault.machine);
        await sleep(fault.forMs);
        return inventory.putBack(fault.machine);
      }
      case "machine changed":
        return this.#workerOf(fault.machine).inventory.change(fault.machine);
      case "inventory broken": {
        const { inventory, replicas } = this.#worker(fault.worker);
        return this.#inTrouble(
          replicas,
          fault.forMs,
          () => inventory.breakOff(),
          () => inventory.repair(),
        );
      }
      default:
        return fault satisfies never;
    }
  }

  /** What cannot be broken twice at a time is broken once after the other. */
  #inTurn(what: string, work: () => Promise<void>): Promise<void> {
    const done = (this.#turns.get(what) ?? Promise.resolve()).then(work);
    this.#turns.set(
      what,
      done.catch(() => undefined),
    );
    return done;
  }

  async #inTrouble(
    workers: readonly string[],
    forMs: number,
    begin: () => Promise<void>,
    end: () => Promise<void> = async () => undefined,
  ) {
    const trouble: Trouble = { workers, fromMs: Date.now(), toMs: Number.POSITIVE_INFINITY };
    this.troubles.push(trouble);
    try {
      await begin();
      await sleep(forMs);
    } finally {
      await end();
      trouble.toMs = Date.now();
    }
  }

  #killed(worker: string, actions: number): void {
    this.actionsKilled.set(worker, (this.actionsKilled.get(worker) ?? 0) + actions);
  }

  #worker(name: string): LabWorker {
    const found = this.#lab.workers.find((worker) => worker.name === name);
    if (!found) throw new Error(`no worker ${name}`);
    return found;
  }

  #workerOf(machine: string): LabWorker {
    const found = this.#lab.workers.find(({ inventory }) => inventory.has(machine));
    if (!found) throw new Error(`no worker has the machine ${machine}`);
    return found;
  }
}
