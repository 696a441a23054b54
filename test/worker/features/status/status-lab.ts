import type { ServerResponse } from "node:http";
import { vi } from "vitest";
import type { Clock } from "../../../../shared/clock.ts";
import { silentLogger } from "../../../../shared/logger.ts";
import { type ActionStatus, actionKey, type Outcome } from "../../../../worker/core/action/action.ts";
import type { SeenAction } from "../../../../worker/core/action/observer.ts";
import type { WorkerFacts } from "../../../../worker/features/shared/facts.ts";
import type { WorkerObservers } from "../../../../worker/features/shared/observer.ts";
import { Board } from "../../../../worker/features/status/board/board.ts";
import { StatusPage } from "../../../../worker/features/status/status-page.ts";
import type { Access } from "../../../../worker/listener/http/access.ts";
import { HttpListener } from "../../../../worker/listener/http/http-listener.ts";
import type { Route } from "../../../../worker/listener/http/route.ts";
import { SetClock } from "../../../support/set-clock.ts";

export const statusClock = () => new SetClock("2026-11-21T03:00:00Z");

type Told = Pick<WorkerObservers, "action" | "lane" | "poll" | "file">;

/** Sends an observer the events of a worker. */
export class Storyteller {
  readonly #told: Told;
  readonly #clock: Clock;

  constructor(told: Partial<Told>, clock: Clock) {
    const nothing = () => undefined;
    this.#told = { action: nothing, lane: nothing, poll: nothing, file: nothing, ...told };
    this.#clock = clock;
  }

  /** An action of its own workflow; `about` says what is other than usual. */
  action(id: string, about: Partial<SeenAction> = {}): SeenAction {
    const names = { workflowId: `default/${id}`, taskId: "bmc", agentId: "pbnj", actionId: id };
    const identity = { ...names, name: "power-off", image: "registry.example/power-off:v1", ...about };
    return { ...identity, key: actionKey(identity) };
  }

  taken(action: SeenAction, machine?: string): void {
    this.#told.action({ kind: "taken", action, ...(machine && { machine }), at: this.#at });
  }

  started(action: SeenAction, machine?: string, about: { startedAt?: Date; adopted?: boolean } = {}): void {
    this.#told.action({
      ...{ kind: "started", action, ...(machine && { machine }), runtime: "docker" },
      ...{ startedAt: this.#at, timeoutMs: 120_000, adopted: false, ...about },
    });
  }

  line(action: SeenAction, line: string): void {
    this.#told.action({ kind: "line", action, line: { stream: "stderr", line }, at: this.#at });
  }

  progress(action: SeenAction, text: string, limitMs?: number): void {
    const progress = { text, ...(limitMs !== undefined && { limitMs }) };
    this.#told.action({ kind: "progress", action, progress, at: this.#at });
  }

  ended(action: SeenAction, machine?: string, outcome: Partial<Outcome> = {}): void {
    const common = { ok: true, message: "off after 6.2 s via redfish", timedOut: false, killed: false };
    this.#told.action({
      ...{ kind: "ended", action, ...(machine && { machine }), runtime: "docker" },
      outcome: { ...common, startedAt: this.#at, stoppedAt: this.#at, ...outcome },
    });
  }

  refused(action: SeenAction, reason: string): void {
    this.#told.action({ kind: "refused", action, reason, at: this.#at });
    this.ended(action, undefined, { ok: false, class: "usage", message: reason });
  }

  reported(
    action: SeenAction,
    delivery: "acknowledged" | "rejected" | "unanswered" = "acknowledged",
    status: Partial<Pick<ActionStatus, "state" | "message">> = {},
  ): void {
    const said = { state: "success" as const, message: "reported", startedAt: this.#at, ...status };
    this.#told.action({ kind: "reported", action, delivery, status: said, at: this.#at });
  }

  left(action: SeenAction): void {
    this.#told.action({ kind: "returned", action, at: this.#at });
  }

  /** From being taken to the acknowledged report. */
  whole(action: SeenAction, machine?: string, outcome: Partial<Outcome> = {}): void {
    this.taken(action, machine);
    this.started(action, machine);
    this.ended(action, machine, outcome);
    this.reported(action);
  }

  failing(agentId: string, code = "Unavailable"): void {
    this.#told.poll({ agentId, code, kind: "failed", durationMs: 3 });
    this.#told.lane(agentId, "failing");
  }

  get observer(): Told {
    return this.#told;
  }

  get #at(): Date {
    return new Date(this.#clock.now());
  }
}

/** The end of an action that says what the power is. */
export function getPower(after: "on" | "off" | "unknown"): Partial<Outcome> {
  return {
    message: `${after} via redfish`,
    result: { action: "power-status", ok: true, message: after, after, durationMs: 1, roundTrips: 1 },
  };
}

/** A status page behind the worker's own listener, about machines that need not exist. */
export async function statusLab(
  options: Partial<Omit<WorkerFacts, "machines">> & {
    readonly machines?: readonly string[];
    readonly clock?: Clock;
    readonly access?: Access;
    readonly mostEnded?: number;
    readonly mostReaders?: number;
  } = {},
) {
  const { machines = ["node-01", "node-02"], clock = statusClock(), access, ...rest } = options;
  const { mostEnded, mostReaders, ...facts } = rest;
  let known = machines;
  const board = new Board(clock, mostEnded);
  const page = new StatusPage(board, clock, mostReaders);
  const responses: ServerResponse[] = [];
  const worker: WorkerFacts = {
    machines: () => known,
    agentIds: () => [],
    slots: () => ({ limit: 200, taken: 0 }),
    unfinished: () => 0,
    checkRuntime: () => Promise.resolve(""),
    ...facts,
  };
  const routes = page.routes(worker).map(
    (route): Route => ({
      ...route,
      handle(request, response, url, granted) {
        responses.push(response);
        return route.handle(request, response, url, granted);
      },
    }),
  );
  const listener = new HttpListener({ routes, log: silentLogger, ...(access && { access }) });
  await listener.listen({ host: "127.0.0.1", port: 0 });
  return {
    page,
    board,
    listener,
    url: listener.url,
    /** The server's responses, in the order in which they began. */
    responses,
    tell: new Storyteller(board.observer, clock),
    setMachines(names: readonly string[]) {
      known = names;
      board.observer.file?.({ name: "inventory", taken: true });
    },
    fetch: (path: string, init?: RequestInit) => fetch(`${listener.url}${path}`, init),
    text: async (path: string) => (await fetch(`${listener.url}${path}`)).text(),
    async [Symbol.asyncDispose]() {
      page.close();
      await listener.close();
    },
  };
}

interface StreamEvent {
  readonly id: string | undefined;
  readonly event: string | undefined;
  readonly data: string;
  readonly bytes: number;
}

type SentChanges = Record<string, { rows?: Record<string, string>; order?: string[] }>;

/** Reads server-sent events as a browser does. */
export class StreamReader {
  readonly events: StreamEvent[] = [];
  status = 0;
  #text = "";
  readonly #abort = new AbortController();
  readonly opened: Promise<void>;
  readonly ended: Promise<void>;

  constructor(url: string, headers: Record<string, string> = {}) {
    const response = fetch(url, { headers, signal: this.#abort.signal });
    this.opened = response.then(({ status }) => {
      this.status = status;
    });
    this.ended = response
      .then(async ({ body }) => {
        const decoder = new TextDecoder();
        for await (const chunk of body ?? []) this.#take(decoder.decode(chunk, { stream: true }));
      })
      .catch(() => undefined);
  }

  /** What it was told to change, in order. */
  get updates(): readonly SentChanges[] {
    return this.events.filter(({ event }) => event === "update").map(({ data }) => JSON.parse(data));
  }

  get bytes(): number {
    return this.events.reduce((sum, { bytes }) => sum + bytes, 0);
  }

  async until(fits: () => boolean): Promise<void> {
    await vi.waitFor(
      () => {
        if (!fits()) throw new Error(`not yet: ${JSON.stringify(this.events).slice(-2_000)}`);
      },
      { timeout: 15_000, interval: 5 },
    );
  }

  async [Symbol.asyncDispose]() {
    this.#abort.abort();
    await this.ended;
  }

  #take(text: string): void {
    this.#text += text;
    for (let end = this.#text.indexOf("\n\n"); end !== -1; end = this.#text.indexOf("\n\n")) {
      const block = this.#text.slice(0, end);
      this.#text = this.#text.slice(end + 2);
      const field = (name: string) => new RegExp(`^${name}: (.*)$`, "m").exec(block)?.[1];
      const bytes = Buffer.byteLength(block) + 2;
      this.events.push({ id: field("id"), event: field("event"), data: field("data") ?? "", bytes });
    }
  }
}
