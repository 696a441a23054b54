import { z } from "zod";
import { BmcError } from "../../shared/contract/bmc-error.ts";
import type { ErrorClass } from "../../shared/contract/error-class.ts";
import { silentLogger } from "../../shared/logger.ts";
import { suggestion } from "../../shared/nearest-name.ts";
import type { Action, Outcome } from "../action/action.ts";
import { AuthGate } from "../machines/auth-gate.ts";
import type { Inventory, Machine } from "../machines/inventory.ts";
import { SecretCommands } from "../machines/secret-commands.ts";
import { InProcessRuntime } from "../runtime/in-process/in-process-runtime.ts";
import type { SelfProgram } from "../runtime/self-program.ts";
import { MachineLocks } from "../turns/machine-locks.ts";
import type { CauseName } from "./causes.ts";
import { DOCTOR_AGENT_ID } from "./check-server.ts";
import { eachOf } from "./each-of.ts";
import { FINDING_STATES, type Finding, isSkipped, isWell, isWrong, remedyOf } from "./finding.ts";

/** The action that looks at everything that other actions need, and changes nothing. */
const CHECK = "check";
/** At a time: a BMC answers slowly, but its network and this process have bounds. */
const MOST_AT_A_TIME = 50;
/** Between the action's own end, which says where the time went, and the one that it is given. */
const SPARE_MS = 5_000;
/** To log out after the time is over, or after Ctrl-C. */
const STOP_GRACE_MS = 5_000;

export interface BmcChecks {
  readonly asked: "all" | readonly string[] | undefined;
  /** Undefined when it could not be read. */
  readonly inventory: Inventory | undefined;
  readonly own: SelfProgram;
  /** For each machine, from its turn on. */
  readonly timeoutMs: number;
}

/**
 * Looks at the BMCs with the action `check`, inside this process, the worst first. Machines of one BMC come one after the
 * other, and what it refused once is not offered to it again.
 */
export async function checkBmcs(checks: BmcChecks, signal: AbortSignal): Promise<readonly Finding[]> {
  const { asked, inventory, own } = checks;
  if (asked === undefined) return [isSkipped("bmc", "pass --bmc to check the BMCs")];
  if (!inventory) return [isSkipped("bmc", "the inventory must be valid first")];
  const { machines, unknown } = chosen(asked, inventory);
  if (machines.length === 0 && unknown.length === 0) {
    return [isSkipped("bmc", "the inventory has no machines")];
  }
  const runtime = new InProcessRuntime({
    actions: own.library,
    refuse: async () => undefined,
    log: silentLogger,
    stopGraceMs: STOP_GRACE_MS,
  });
  const visit = new Visit(checks, inventory, runtime);
  try {
    const found = await eachOf(machines, MOST_AT_A_TIME, (machine) => visit.at(machine, signal), signal);
    return [...unknown, ...worstFirst(found)];
  } finally {
    await runtime.close();
  }
}

function chosen(asked: "all" | readonly string[], inventory: Inventory) {
  const all = inventory.machines();
  if (asked === "all") return { machines: all, unknown: [] };
  const names = all.map(({ name }) => name);
  const unknown = asked
    .filter((name) => !names.includes(name))
    .map((name) => {
      const detail = `there is no such machine in the inventory${suggestion(name, names)}`;
      return isWrong("machine-unknown", detail, { subject: name });
    });
  return { machines: all.filter(({ name }) => asked.includes(name)), unknown };
}

function worstFirst(findings: readonly Finding[]): readonly Finding[] {
  const rank = ({ state }: Finding) => FINDING_STATES.indexOf(state);
  return findings.toSorted((a, b) => rank(a) - rank(b));
}

/** As much of the action's data as is told. */
const CheckData = z.object({
  checks: z.array(z.object({ check: z.string(), state: z.string(), detail: z.string() })),
});

class Visit {
  readonly #inventory: Inventory;
  readonly #runtime: InProcessRuntime;
  readonly #timeoutMs: number;
  readonly #commands = new SecretCommands();
  readonly #locks = new MachineLocks();
  readonly #gate = new AuthGate();

  constructor({ timeoutMs }: BmcChecks, inventory: Inventory, runtime: InProcessRuntime) {
    this.#inventory = inventory;
    this.#runtime = runtime;
    this.#timeoutMs = timeoutMs;
  }

  async at(machine: Machine, signal: AbortSignal): Promise<Finding> {
    const release = await this.#locks.acquire(machine.lockKey, signal);
    try {
      return await this.#look(machine, signal);
    } finally {
      release();
    }
  }

  async #look(machine: Machine, signal: AbortSignal): Promise<Finding> {
    const { name, lockKey } = machine;
    const subject = name;
    let offer: Parameters<AuthGate["learn"]>[0];
    try {
      const reading = { commands: this.#commands, signal };
      const connection = await this.#inventory.resolveConnection(machine, reading);
      offer = { machine: name, lockKey, connection };
    } catch (thrown) {
      signal.throwIfAborted();
      return isWrong("bmc-secret", withoutName(BmcError.from(thrown).message, name), { subject });
    }
    const refusal = this.#gate.refusal(offer);
    if (refusal !== undefined) {
      return isWrong("bmc-auth", withoutName(refusal, name), { subject, facts: { machine: name } });
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
    return findingOf(name, outcome);
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

function findingOf(machine: string, outcome: Outcome): Finding {
  const subject = machine;
  const { result } = outcome;
  if (!outcome.ok) {
    const errorClass = outcome.class ?? "internal";
    const cause = errorClass === "auth" && result?.refused === "right" ? "bmc-right" : BY_CLASS[errorClass];
    return isWrong(cause, outcome.message, { subject, check: "bmc", facts: { machine } });
  }
  const rows = CheckData.safeParse(result?.data).data?.checks ?? [];
  const power = rows.find(({ check, state }) => check === "power" && state === "ok")?.detail;
  const words = `${power === undefined ? "" : `power ${power}; `}${outcome.message}`;
  const warnings = rows.filter((row) => row.state === "warning" && !isEnough(row));
  const [first] = warnings;
  if (!first) return isWell("bmc", words, subject);
  const causes = [...new Set(warnings.map(({ check }) => BY_CHECK[check] ?? "bmc-doubtful"))];
  const detail = `${warnings.map(({ check, detail: found }) => `${check}: ${found}`).join("; ")}; ${words}`;
  const warned = isWrong(BY_CHECK[first.check] ?? "bmc-doubtful", detail, { subject });
  return { ...warned, remedy: causes.map((cause) => remedyOf(cause)).join("; ") };
}

/** An operator, as IPMI sessions are unless told otherwise, does all but change users. */
function isEnough({ check, detail }: { readonly check: string; readonly detail: string }): boolean {
  return check === "users" && / is operator, /.test(detail);
}

/** The machine stands before the line already. */
function withoutName(message: string, name: string): string {
  const prefix = `machine ${name}: `;
  return message.startsWith(prefix) ? message.slice(prefix.length) : message;
}
