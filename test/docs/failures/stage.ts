import { textOf } from "../../../shared/text-of.ts";
import { type IpmiBmc, type IpmiBmcOptions, startIpmiBmc } from "../../../simulators/ipmi/bmc.ts";
import { SimulatedMachine, type SimulatedMachineOptions } from "../../../simulators/machine.ts";
import { type RedfishBmc, type RedfishBmcOptions, startRedfishBmc } from "../../../simulators/redfish/bmc.ts";
import { startTinkServer, type TinkServer, type TinkServerOptions } from "../../../simulators/tink/server.ts";
import { isOver, type Workflow } from "../../../simulators/tink/workflow.ts";
import { CommandInProcess } from "../../support/command-in-process.ts";
import { type Folder, openFolder } from "../../support/folder.ts";
import { type Step, templateOf } from "../../support/lab.ts";
import type { StartedProgram } from "../../support/program-log.ts";
import { WorkerProgram } from "../../support/worker-program.ts";
import type { LogRecord, Seen } from "./failure.ts";

/** Where the manual has what is on loopback, with a free port, here. */
const SHOWN = { redfish: "192.0.2.11:443", ipmi: "192.0.2.11:623", tink: "192.0.2.1:42113" } as const;
const OVER_WITHIN_MS = 60_000;
const UUID = /\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g;
/** Where OpenSSL's text says in which thread it was. */
const OPENSSL_THREAD = /\b[0-9A-F]{16}(:error:)/g;
/** How long a machine really took. */
const MEASURED = /\b(cycled in|on after|help in|change was sent) \d+\.\d s/g;
/** Quick, but off for long enough that a poll sees it. */
const QUICK = { powerOnMs: 10, powerOffMs: 10, softOffMs: 10, cycleOffMs: 1_000 };

/** Real servers and programs on which one failure happens; all of it is gone when disposed. */
export class Stage implements AsyncDisposable {
  readonly folder: string;
  /** State directory of the workers on this stage. */
  readonly state: string;
  readonly #hidden: [string, string][] = [];
  readonly #workers: StartedProgram[] = [];
  readonly #place: Folder;

  private constructor(place: Folder) {
    this.#place = place;
    this.folder = place.folder;
    this.state = place.path("state");
    this.hide(this.state, "/var/lib/pbnj-worker");
    this.hide(this.folder, "/etc/pbnj-worker");
  }

  static async open(): Promise<Stage> {
    return new Stage(await openFolder());
  }

  /** Shows `shown` for what is different each time. What is longer goes first. */
  hide(real: string, shown: string): void {
    this.#hidden.push([real, shown]);
    this.#hidden.sort(([one], [other]) => other.length - one.length);
  }

  /** What is to be closed with the stage, before what was opened earlier. */
  use<T extends AsyncDisposable>(one: T): T {
    return this.#place.own(one);
  }

  defer(close: () => Promise<void>): void {
    this.#place.defer(close);
  }

  async tink(options: TinkServerOptions = {}): Promise<TinkServer> {
    const server = this.use(await startTinkServer({ holdMs: 2_000, ...options }));
    this.hide(server.address, SHOWN.tink);
    return server;
  }

  async redfish(
    options: RedfishBmcOptions = {},
    machineOptions: SimulatedMachineOptions = {},
  ): Promise<RedfishBmc> {
    const machine = new SimulatedMachine({ name: "node-01", ...QUICK, ...machineOptions });
    const bmc = this.use(await startRedfishBmc({ machines: [machine], tls: "http", ...options }));
    this.hide(`127.0.0.1:${bmc.port}`, SHOWN.redfish);
    return bmc;
  }

  async ipmi(options: Partial<IpmiBmcOptions> = {}): Promise<IpmiBmc> {
    const machine = new SimulatedMachine({ name: "node-01", ...QUICK });
    const bmc = this.use(await startIpmiBmc({ machine, ...options }));
    this.hide(`127.0.0.1:${bmc.port}`, SHOWN.ipmi);
    return bmc;
  }

  /** Writes a file of the stage and gives its path. */
  file(name: string, content: string | object): Promise<string> {
    // A worker of another user reads it, too.
    return this.#place.write(name, content, 0o644);
  }

  /** An inventory with the machine node-01, whose password is `calvin`. */
  async inventory(machine: object, name = "inventory.yaml"): Promise<string> {
    const passwordFile = await this.file("password", "calvin\n");
    const about = { name: "node-01", host: "127.0.0.1", credentials: { username: "admin", passwordFile } };
    return this.file(name, { machines: [{ ...about, ...machine }] });
  }

  /** A worker, inside this process. */
  start(argv: readonly string[]): CommandInProcess {
    const worker = this.use(new CommandInProcess(["start", ...this.#settings, ...argv]));
    this.#workers.push(worker);
    return worker;
  }

  /** A worker that is a process; `by` is the program that starts it. */
  startProcess(
    argv: readonly string[],
    env: Readonly<Record<string, string>> = {},
    by: readonly string[] = [],
  ): WorkerProgram {
    const worker = this.use(new WorkerProgram(["start", ...this.#settings, ...argv], env, by));
    this.#workers.push(worker);
    return worker;
  }

  get #settings(): readonly string[] {
    return [
      ...["--state-directory", this.state, "--http-address", "off"],
      ...["--stop-grace", "2s", "--backoff-max-interval", "300ms"],
    ];
  }

  /** A worker that refuses to start. */
  refused(argv: readonly string[], shown: string): Promise<Seen> {
    return this.#terminal(new CommandInProcess(["start", ...argv]), shown);
  }

  /** A program that ends by itself. */
  terminal(argv: readonly string[], shown: string): Promise<Seen> {
    return this.#terminal(new WorkerProgram(argv), shown);
  }

  async #terminal(program: StartedProgram, shown: string): Promise<Seen> {
    this.use(program);
    const { code } = await program.ended;
    const text = this.normal(`${program.stdout}${program.stderr}`).trimEnd();
    return { terminal: { command: shown, text, exitCode: code } };
  }

  /** Submits actions for node-01 and waits for their end. */
  async ending(server: TinkServer, ...steps: readonly Step[]): Promise<Workflow> {
    const workflow = this.submit(server, ...steps);
    await this.until(server, () => isOver(workflow));
    return workflow;
  }

  /** Rejects with what the workers said when the condition never holds. */
  async until(server: TinkServer, condition: () => boolean): Promise<void> {
    try {
      await server.until(condition, OVER_WITHIN_MS);
    } catch (thrown) {
      const said = this.#workers.map(({ stderr }) => stderr).join("");
      throw new Error(`${textOf(thrown)}\n${said}`);
    }
  }

  submit(server: TinkServer, ...steps: readonly Step[]): Workflow {
    const image = (name: string) => `registry.example/pbnj-worker/${name}:v0.1.0`;
    const imaged = steps.map((step) => ({ image: image(step.name), ...step }));
    return server.submit({ template: templateOf("pbnj-node-01", ...imaged) });
  }

  /** The last action of a workflow that has begun, from the workflow's status. */
  statusOf(workflow: Workflow): { readonly status: NonNullable<Seen["status"]> } {
    const last = (workflow.tasks[0]?.actions ?? []).findLast(({ state }) => state !== "PENDING");
    if (!last) throw new Error(`nothing of ${workflow.id} has begun`);
    return { status: { action: last.name, state: last.state, message: this.normal(last.message) } };
  }

  /** The first line with each of these messages; waits for it. */
  async logged(
    worker: StartedProgram,
    ...messages: readonly string[]
  ): Promise<{ readonly log: LogRecord[] }> {
    const log: LogRecord[] = [];
    for (const message of messages) log.push(this.record(await worker.untilLogged(message)));
    return { log };
  }

  /** A line of the log with what is different each time made the same. */
  record(record: LogRecord): LogRecord {
    const entries = Object.entries(record).map(([name, value]) => {
      if (name === "time") return [name, "2026-01-01T03:00:00.000Z"];
      if (name === "durationMs") return [name, 1500];
      if (name === "waitMs") return [name, 400];
      return [name, typeof value === "string" ? this.normal(value) : value];
    });
    return Object.fromEntries(entries);
  }

  normal(text: string): string {
    const shown = this.#hidden.reduce((so, [real, other]) => so.replaceAll(real, other), text);
    return shown
      .replaceAll(UUID, "7c9e6679-7425-40de-944b-e07fc1f90ae7")
      .replaceAll(OPENSSL_THREAD, "40D7A1B2C37F0000$1")
      .replaceAll(MEASURED, "$1 1.5 s");
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#place[Symbol.asyncDispose]();
  }
}
