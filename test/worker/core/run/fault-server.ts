import { Code, ConnectError } from "@connectrpc/connect";
import { isOver, type Workflow } from "../../../../simulators/tink/workflow.ts";
import { type ActionStatus, actionKey } from "../../../../worker/core/action/action.ts";
import type { Acknowledgement, Poll, WorkflowSet } from "../../../../worker/core/ports/source.ts";
import { acknowledgementOfError } from "../../../../worker/sources/grpc/grpc-errors.ts";
import { pollOfError } from "../../../../worker/sources/tink/tink-api.ts";
import type { VirtualTime } from "../../../support/simulation/virtual-time.ts";
import { currentApi, type FaultApi, idOf, legacyApi } from "./fault-api.ts";

const AWAY_MS = 30_000;
const WALL_MS = 10 * 60_000;
const MINUTE_MS = 60_000;
/** Longer than any cache, and than most memories. */
const ABSENT_MS = [6, 6, 6, 6, 120, 120, 26 * 60].map((minutes) => minutes * MINUTE_MS);

/** The classes of answers with which a server, or a proxy with a bare HTTP status, refuses a request. */
const REFUSALS: readonly (readonly [Code, string])[] = [
  [Code.InvalidArgument, "invalid workflow id"],
  [Code.NotFound, "no route"],
  [Code.FailedPrecondition, "not now"],
  [Code.Unimplemented, "HTTP 404"],
  [Code.PermissionDenied, "HTTP 403"],
  [Code.Unauthenticated, "HTTP 401"],
  [Code.Internal, "HTTP 400"],
  [Code.Unknown, "HTTP 500"],
  [Code.Unavailable, "HTTP 503"],
  [Code.ResourceExhausted, "too many requests"],
];

/** `POST` becomes `SUCCESS` in the next turn of the event loop. */
export const hasEnded = (workflow: Workflow) => isOver(workflow) || workflow.state === "POST";

export interface FaultServerOptions {
  readonly time: VirtualTime;
  readonly random: () => number;
  readonly workflows: readonly (readonly string[])[];
  readonly isLegacy: boolean;
  /** Called when the server has taken a report. */
  readonly onAccepted: (status: ActionStatus, isLate?: boolean) => void;
}

/** The tink server: what it knows, whether it answers, and what stands before it. */
export class FaultServer {
  readonly #options: FaultServerOptions;
  readonly #api: FaultApi;
  readonly #ids: readonly string[];
  /** By workflow ID, how often it was submitted again. */
  #runs = new Map<string, number>();
  readonly recreated = new Set<string>();
  #restore: (() => void) | undefined;
  #awayUntilMs = 0;
  #wallUntilMs = 0;
  #storeFailsUntilMs = 0;
  /** How long it was away in all. */
  absentMs = 0;
  /** What is on its way, although its sender does not wait for it any more. */
  #late = 0;

  constructor(options: FaultServerOptions) {
    const { workflows, isLegacy } = options;
    this.#options = options;
    const takesReports = () => options.time.nowMs >= this.#storeFailsUntilMs;
    this.#api = isLegacy ? legacyApi(workflows, takesReports) : currentApi(workflows, takesReports);
    this.#ids = workflows.map((_, index) => idOf(index));
  }

  get servesSeveral(): boolean {
    return this.#api.servesSeveral;
  }

  get workflows(): readonly Workflow[] {
    return this.#ids.flatMap((id) => this.#api.get(id) ?? []);
  }

  get isAway(): boolean {
    return this.#options.time.nowMs < this.#awayUntilMs;
  }

  get isQuiet(): boolean {
    return this.#late === 0;
  }

  /** Which run of a workflow the server has now. */
  runOf(workflowId: string): number {
    return this.#runs.get(workflowId) ?? 0;
  }

  goAway(): void {
    this.#awayFor(AWAY_MS);
  }

  /** For minutes, hours, or more than a day. */
  goFarAway(): void {
    this.#awayFor(ABSENT_MS[Math.floor(this.#options.random() * ABSENT_MS.length)] ?? AWAY_MS);
  }

  #awayFor(ms: number): void {
    this.absentMs += ms;
    this.#awayUntilMs = Math.max(this.#awayUntilMs, this.#options.time.nowMs + ms);
  }

  /** From now on a proxy refuses every request, for ten minutes. */
  wall(): void {
    this.#wallUntilMs = this.#options.time.nowMs + WALL_MS;
  }

  /** From now on its store takes no report, for ten minutes. */
  failStore(): void {
    this.#storeFailsUntilMs = this.#options.time.nowMs + WALL_MS;
  }

  /** Deletes a workflow, and submits it again. */
  recreate(): void {
    const id = this.#ids[Math.floor(this.#options.random() * this.#ids.length)] ?? "";
    this.#runs.set(id, this.runOf(id) + 1);
    this.recreated.add(id);
    this.#api.recreate(id);
  }

  /** Makes a backup. */
  keep(): void {
    const restore = this.#api.snapshot();
    const runs = [...this.#runs];
    if (!restore) return;
    this.#restore = () => {
      restore();
      this.#runs = new Map(runs);
    };
  }

  restore(): void {
    this.#restore?.();
  }

  /** An answer that refuses a request. */
  refusal(): ConnectError {
    const [code, text] = REFUSALS[Math.floor(this.#options.random() * REFUSALS.length)] ?? [Code.Unknown, ""];
    return new ConnectError(text, code);
  }

  async poll(agentId: string, inFlight: WorkflowSet): Promise<Poll> {
    return this.#isWalled ? pollOfError(this.refusal()) : this.#api.poll(agentId, inFlight);
  }

  async report(status: ActionStatus): Promise<Acknowledgement> {
    if (this.#isWalled) return acknowledgementOfError(this.refusal());
    const answer = await this.#api.report(status);
    if (answer.kind === "acknowledged") this.#options.onAccepted(status);
    return answer;
  }

  /** A report about a run that arrives after that time, whatever becomes of its sender. */
  expect(status: ActionStatus, run: number, ms: number): Promise<void> {
    this.#late += 1;
    const { promise, resolve } = Promise.withResolvers<void>();
    const { workflowId } = status.action;
    this.#options.time.after(ms, () => {
      this.#late -= 1;
      const workflow = this.#api.get(workflowId);
      // The server would set an ended workflow to RUNNING and then serve it to no worker.
      const isLost = status.state === "running" && (!workflow || hasEnded(workflow));
      // The worker asks the deprecated API, which cannot tell one run from another, right before it sends an end.
      if (!isLost && this.runOf(workflowId) === run) {
        this.#api.arrive(status);
        this.#options.onAccepted(status, true);
      }
      resolve();
    });
    return promise;
  }

  close(): void {
    this.#api.close();
  }

  get #isWalled(): boolean {
    return this.#options.time.nowMs < this.#wallUntilMs;
  }
}

/** One run of an action: a recreated workflow of the deprecated API has the same keys. */
export const runKey = (action: Parameters<typeof actionKey>[0], run: number) => `${actionKey(action)} ${run}`;

/** In place of a run: of an end without a start. */
export const NO_RUN = -1;
