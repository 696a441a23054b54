import { z } from "zod";
import { BmcError } from "../../shared/contract/bmc-error.ts";
import type { ErrorClass } from "../../shared/contract/error-class.ts";
import { silentLogger } from "../../shared/logger.ts";
import { suggestion } from "../../shared/nearest-name.ts";
import { textOf } from "../../shared/text-of.ts";
import type { Action, Outcome } from "../core/action/action.ts";
import { MachineLocks } from "../core/queue/action-queue.ts";
import { Selector } from "../document/labels.ts";
import type { CauseName } from "../findings/causes.ts";
import {
  FINDING_STATES,
  type Finding,
  findingOf,
  okFinding,
  remedyOf,
  skippedFinding,
} from "../findings/finding.ts";
import { AuthGate } from "../machines/auth-gate.ts";
import type { Inventory, Machine } from "../machines/inventory.ts";
import { pauseNote } from "../machines/pause.ts";
import { SecretCommands } from "../machines/secret-commands.ts";
import { InProcessRuntime } from "../runtimes/in-process/in-process-runtime.ts";
import type { SelfProgram } from "../runtimes/self-program.ts";
import { DOCTOR_AGENT_ID } from "./check-server.ts";
import { mapLimited } from "./map-limited.ts";

/** The read-only action that checks everything that other actions need. */
const CHECK = "check";
/** BMCs answer slowly, but their network and this process have limits. */
const MAX_CONCURRENT = 50;
/** The runtime's timeout exceeds the action's own by this much, because the action reports where the time went. */
const SPARE_MS = 5_000;
/** Time for logging out after a timeout or Ctrl-C. */
const STOP_GRACE_MS = 5_000;

export interface BmcCheckOptions {
  readonly asked: "all" | readonly string[] | Selector | undefined;
  /** The inventory; undefined if it is invalid. */
  readonly inventory: Inventory | undefined;
  readonly own: SelfProgram;
  /** The timeout per machine, once its lock is acquired. */
  readonly timeoutMs: number;
}

/**
 * Checks BMCs with the action `check`, inside this process; findings are sorted by severity. Machines that share a BMC are
 * checked one after the other, and credentials that it rejected are not tried again.
 */
export async function checkBmcs(checks: BmcCheckOptions, signal: AbortSignal): Promise<readonly Finding[]> {
  const { asked, inventory, own } = checks;
  if (asked === undefined) return [skippedFinding("bmc", "pass --bmc to check the BMCs")];
  if (!inventory) return [skippedFinding("bmc", "the inventory must be valid first")];
  const { machines, unknown } = chosen(asked, inventory);
  if (machines.length === 0 && unknown.length === 0) {
    const which = asked instanceof Selector ? ` with the labels ${asked.text}` : "";
    return [skippedFinding("bmc", `the inventory has no machines${which}`)];
  }
  const runtime = new InProcessRuntime({
    actions: own.library,
    refuse: async () => undefined,
    log: silentLogger,
    stopGraceMs: STOP_GRACE_MS,
  });
  const visit = new BmcChecker(checks, inventory, runtime);
  try {
    const work = (machine: Machine, own: AbortSignal) => visit.at(machine, own);
    const failed = ({ name }: Machine, thrown: unknown) =>
      findingOf("check-failed", withoutName(textOf(thrown), name), { subject: name });
    const found = await mapLimited(machines, { mostAtATime: MAX_CONCURRENT, work, failed }, signal);
    return [...unknown, ...worstFirst(found)];
  } finally {
    await runtime.close();
  }
}

function chosen(asked: "all" | readonly string[] | Selector, inventory: Inventory) {
  const all = inventory.machines();
  if (asked instanceof Selector) {
    return { machines: all.filter(({ labels }) => asked.matches(labels)), unknown: [] };
  }
  if (asked === "all") return { machines: all, unknown: [] };
  const names = all.map(({ name }) => name);
  const unknown = asked
    .filter((name) => !names.includes(name))
    .map((name) => {
      const detail = `there is no such machine in the inventory${suggestion(name, names)}`;
      return findingOf("machine-unknown", detail, { subject: name });
    });
  return { machines: all.filter(({ name }) => asked.includes(name)), unknown };
}

function worstFirst(findings: readonly Finding[]): readonly Finding[] {
  const rank = ({ state }: Finding) => FINDING_STATES.indexOf(state);
  return findings.toSorted((a, b) => rank(a) - rank(b));
}

/** The part of the action's data that the report shows. */
const CheckData = z.object({
  checks: z.array(z.object({ check: z.string(), state: z.string(), detail: z.string() })),
});

class BmcChecker {
  readonly #inventory: Inventory;
  readonly #runtime: InProcessRuntime;
  readonly #timeoutMs: number;
  readonly #commands = new SecretCommands();
  readonly #locks = new MachineLocks();
  readonly #gate = new AuthGate();

  constructor({ timeoutMs }: BmcCheckOptions, inventory: Inventory, runtime: InProcessRuntime) {
    this.#inventory = inventory;
    this.#runtime = runtime;
    this.#timeoutMs = timeoutMs;
  }

  async at(machine: Machine, signal: AbortSignal): Promise<Finding> {
    const release = await this.#locks.acquire(machine.lockKey, signal);
    try {
      return await this.#check(machine, signal);
    } finally {
      release();
    }
  }

  async #check(machine: Machine, signal: AbortSignal): Promise<Finding> {
    const { name, lockKey, paused } = machine;
    const subject = name;
    if (paused) return skippedFinding("bmc", pauseNote(paused), subject);
    let offer: Parameters<AuthGate["learn"]>[0];
    try {
      const reading = { commands: this.#commands, signal };
      const connection = await this.#inventory.resolveConnection(machine, reading);
      offer = { machine: name, lockKey, connection };
    } catch (thrown) {
      signal.throwIfAborted();
      return findingOf("bmc-secret", withoutName(BmcError.from(thrown).message, name), { subject });
    }
    const refusal = this.#gate.refusal(offer);
    if (refusal !== undefined) {
      return findingOf("bmc-auth", withoutName(refusal, name), { subject, facts: { machine: name } });
    }
    const { outcome } = await this.#runtime.run(
      {
        action: checkAction(name, this.#timeoutMs),
        connection: offer.connection,
        timeoutMs: this.#timeoutMs + SPARE_MS,
        onLog: () => undefined,
      },
      signal,
    );
    signal.throwIfAborted();
    this.#gate.learn(offer, outcome);
    return outcomeFinding(name, outcome);
  }
}

function checkAction(machine: string, timeoutMs: number): Action {
  return {
    workflowId: "doctor/bmc",
    taskId: "doctor",
    agentId: DOCTOR_AGENT_ID,
    actionId: machine,
    name: CHECK,
    image: CHECK,
    timeoutMs: 0,
    command: [],
    volumes: [],
    environment: { TIMEOUT: `${timeoutMs}ms`, LOG_LEVEL: "error" },
  };
}

const BY_CLASS: Readonly<Record<ErrorClass, CauseName>> = {
  usage: "bmc-wrong",
  auth: "bmc-auth",
  unreachable: "bmc-unreachable",
  tls: "bmc-tls",
  unsupported: "bmc-unsupported",
  busy: "bmc-busy",
  verify: "bmc-answer",
  timeout: "bmc-timeout",
  state: "bmc-state",
  protocol: "bmc-answer",
  bmc: "bmc-answer",
  internal: "check-failed",
  cancelled: "bmc-timeout",
};

const BY_CHECK: Readonly<Record<string, CauseName>> = {
  clock: "bmc-clock",
  certificate: "bmc-certificate",
  users: "bmc-rights",
};

function outcomeFinding(machine: string, outcome: Outcome): Finding {
  const subject = machine;
  const { result } = outcome;
  if (!outcome.ok) {
    const errorClass = outcome.class ?? "internal";
    const cause = errorClass === "auth" && result?.refused === "right" ? "bmc-right" : BY_CLASS[errorClass];
    return findingOf(cause, outcome.message, { subject, check: "bmc", facts: { machine } });
  }
  const rows = CheckData.safeParse(result?.data).data?.checks ?? [];
  const power = rows.find(({ check, state }) => check === "power" && state === "ok")?.detail;
  const words = `${power === undefined ? "" : `power ${power}; `}${outcome.message}`;
  const warnings = rows.filter((row) => row.state === "warning" && !isOperator(row));
  const [first] = warnings;
  if (!first) return okFinding("bmc", words, subject);
  const causes = [...new Set(warnings.map(({ check }) => BY_CHECK[check] ?? "bmc-doubtful"))];
  const detail = `${warnings.map(({ check, detail: found }) => `${check}: ${found}`).join("; ")}; ${words}`;
  const warned = findingOf(BY_CHECK[first.check] ?? "bmc-doubtful", detail, { subject });
  return { ...warned, remedy: causes.map((cause) => remedyOf(cause)).join("; ") };
}

/**
 * Whether the user has only the operator role. It is the default of IPMI sessions and allows everything except managing
 * users.
 */
function isOperator({ check, detail }: { readonly check: string; readonly detail: string }): boolean {
  return check === "users" && / is operator, /.test(detail);
}

/** Removes the machine's name from a message, because the line already starts with it. */
function withoutName(message: string, name: string): string {
  const prefix = `machine ${name}: `;
  return message.startsWith(prefix) ? message.slice(prefix.length) : message;
}
