import type { ViolationKind } from "./judge.ts";
import type { CellReport } from "./thread.ts";

interface Exception {
  /** Names of actions, ways and faults; any when absent. */
  readonly actions?: readonly string[];
  readonly ways?: readonly string[];
  readonly faults?: RegExp;
  /** The faulty request or message. */
  readonly request?: RegExp;
  readonly kinds: readonly ViolationKind[];
  /** Only for runs that failed. */
  readonly failed?: true;
  /** Why no client can do better. */
  readonly reason: string;
}

/** What cannot be told from the answers, however they are read. */
export const EXCEPTIONS: readonly Exception[] = [
  {
    ways: ["moved"],
    request: /^(POST|PATCH|DELETE|PUT) /,
    kinds: ["other"],
    reason: "it moves after the last comparison, when the write is already under way",
  },
  {
    ways: ["moved"],
    request: /^(POST|PATCH|DELETE|PUT) /,
    kinds: ["false-success", "wrong-changed"],
    reason: "it moves while the write is under way, and what is read afterwards need not identify the system",
  },
  {
    ways: ["moved"],
    kinds: ["wrong-blame"],
    reason: "it moves while the list is read, which then has it twice or not at all",
  },
  {
    ways: ["moved"],
    kinds: ["other"],
    failed: true,
    reason: "it moves between the last comparisons, of the system and of its part, and the report says so",
  },
  {
    actions: ["power-reset", "send-nmi"],
    faults: /^((empty|object)-before|unsaid)$/,
    kinds: ["false-success", "wrong-changed"],
    reason: "it is confirmed and not done, and nothing that can be read tells",
  },
  {
    actions: ["reset-bios", "reset-secure-boot-keys"],
    faults: /^(empty|object|task-endless)-before$/,
    kinds: ["false-success", "wrong-changed"],
    reason: "it is confirmed and not done, which shows at the next boot",
  },
  {
    faults: /^403-after$|^code-(c1|c7|cc|d4|d5)-after$/,
    kinds: ["unsaid-changed"],
    reason: "the BMC says that it may not or cannot do what it has done: nothing is claimed about a change",
  },
  {
    ways: ["rpc"],
    faults: /^(401|404|405|409|501|error-object)-after$/,
    kinds: ["unsaid-changed"],
    reason: "a webhook refuses what it has done, and has no state to read",
  },
  {
    ways: ["rpc"],
    faults: /^object-before$/,
    kinds: ["false-success", "wrong-changed"],
    reason: "an answer without an error is a success to bmclib's webhooks, and there is no state to read",
  },
  {
    actions: ["create-user"],
    ways: ["ipmi", "ipmi-behind"],
    kinds: ["wrong-report"],
    reason: "the user has another ID: a slot that was refused is left out",
  },
  {
    ways: ["ipmi"],
    faults: /^code-c0-after$/,
    kinds: ["repeated"],
    reason: "node busy means that the command was not processed (IPMI 2.0 table 5-2)",
  },
  {
    actions: ["bmc-reset"],
    faults: /^silent(-after)?$/,
    kinds: ["false-success", "wrong-changed"],
    reason: "a BMC that is silent for a minute after its reset was sent looks like one that restarts",
  },
  {
    ways: ["ironic"],
    faults: /^404/,
    request: /^GET \/v1\/nodes\/node-1(\?|$)/,
    kinds: ["wrong-blame"],
    reason: "Ironic says that there is no such node, which only a wrong name explains",
  },
];

/** The exception that allows this violation. */
export function exceptionFor(
  { cell, hit, ok }: Pick<CellReport, "cell" | "hit" | "ok">,
  kind: ViolationKind,
): Exception | undefined {
  const has = (names: readonly string[] | undefined, name: string) => names?.includes(name) ?? true;
  return EXCEPTIONS.find(
    ({ actions, ways, faults, request, kinds, failed = false }) =>
      !(failed && ok) &&
      has(actions, cell.action) &&
      has(ways, cell.way) &&
      (faults?.test(cell.fault.name) ?? true) &&
      kinds.includes(kind) &&
      (request?.test(hit ?? "") ?? true),
  );
}
