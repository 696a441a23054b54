import type { ActionRecord, Finding, MachineRecord, PowerCommandName, WorkflowRecord } from "./records.ts";

export interface Evidence {
  readonly workflows: readonly WorkflowRecord[];
  readonly actions: readonly ActionRecord[];
  readonly machines: readonly MachineRecord[];
  /** By machine: when its worker's process ended, whatever ended it. */
  readonly interruptions: ReadonlyMap<string, readonly number[]>;
  /** Machines that replicas share: one replica may not know yet which actions another one has ended. */
  readonly sharedMachines: ReadonlySet<string>;
  /** Actions, as `workflow/1-name`, that ended long before the server received the report: others began meanwhile. */
  readonly pendingReports: ReadonlySet<string>;
  /** When the clock jumped so far that a worker which starts then has forgotten what it had acknowledged. */
  readonly longJumps: readonly number[];
}

/** What an action had sent before it failed, or before a process that was told to stop had ended. */
const LATE_MS = 3_000;
/** An action whose workflow the server forgot may still run so long. */
const FORGOTTEN_MS = 60_000;
/** So long a replica that was just served an action may start it again; it adopts the Job that has ended. */
const UNAWARE_MS = 10_000;
/** The records are of different processes on one clock. */
const TOLERANCE_MS = 50;

/** One action's time at its machine, with the commands that fell into it. */
interface Stay {
  readonly action: ActionRecord;
  readonly fromMs: number;
  /** When it was started for the last time. */
  readonly lastStartMs: number;
  readonly toMs: number;
  readonly commands: PowerCommandName[];
}

/** Whether what the server was told and what was done at the machines agree: each thing once, and nothing claimed. */
export function judgeActions(given: Evidence): readonly Finding[] {
  const evidence = { ...given, actions: given.actions.map(withoutForgottenRefusals) };
  const known = evidence.actions.filter((action) => !isForgotten(action, evidence.longJumps));
  const findings: Finding[] = [
    ...evidence.workflows
      .filter(({ state }) => !["SUCCESS", "FAILED", "TIMEOUT"].includes(state))
      .map(notEnded),
    ...known.flatMap((action) => [
      ...startedAfterEnd(action, evidence.sharedMachines.has(action.machine) ? UNAWARE_MS : 0),
      ...endsDiffer(action),
    ]),
  ];
  for (const machine of evidence.machines) {
    const stays = staysAt(machine, evidence);
    const sure = stays.filter(({ action }) => known.includes(action));
    findings.push(
      ...attribute(machine, stays),
      ...sure.flatMap((stay) => tooOften(stay, stays)),
      ...sure.flatMap((stay) => notHappened(stay, machine, stays)),
      ...together(
        sure.filter(({ action }) => !evidence.pendingReports.has(keyOf(action))),
        evidence.interruptions.get(machine.name) ?? [],
      ),
      ...bootsMissing(machine, stays),
    );
  }
  return findings;
}

function notEnded({ name, state }: WorkflowRecord): Finding {
  return { rule: "every workflow ends", text: `${name} is ${state}` };
}

function startedAfterEnd(action: ActionRecord, unawareMs: number): readonly Finding[] {
  const end = action.ends[0];
  if (!end || action.undone || !action.startedAt.some((at) => at > end.at + unawareMs)) return [];
  return [
    { rule: "an action that ended is not run again", text: `${labelOf(action)} was started after its end` },
  ];
}

function endsDiffer(action: ActionRecord): readonly Finding[] {
  const states = new Set(action.ends.map(({ state }) => state));
  // A replica that cannot read the credentials reports the same end without its text.
  const messages = new Set(
    action.ends.flatMap(({ message }) => (message.startsWith("[withheld: ") ? [] : message)),
  );
  if (states.size < 2 && messages.size < 2) return [];
  const told = new Set(action.ends.map(({ state, message }) => `${state}: ${message}`));
  return [{ rule: "one end an action", text: `${labelOf(action)} ended as ${[...told].join(" and as ")}` }];
}

/** Both the server and the worker forgot its end: the worker had to run it again. */
function isForgotten({ undone, startedAt, ends }: ActionRecord, longJumps: readonly number[]): boolean {
  const [fromMs, toMs] = [Math.min(...startedAt), Math.max(...ends.map(({ at }) => at), ...startedAt)];
  return undone === true && longJumps.some((at) => fromMs <= at && at <= toMs);
}

/** A refused action did nothing: it may run when the server has forgotten the refusal. */
function withoutForgottenRefusals(action: ActionRecord): ActionRecord {
  const ends = action.ends.filter((end) => !isRefusal(action, end));
  return action.undone && ends.length > 0 ? { ...action, ends } : action;
}

/** By the inventory, for example. The worker reports its start because the server expects one, and launches nothing. */
function isRefusal({ index, name }: ActionRecord, end: ActionRecord["ends"][number] | undefined): boolean {
  return end?.state === "FAILED" && end.message.startsWith(`${index + 1}-${name} failed (usage): `);
}

function staysAt({ name }: MachineRecord, { actions, longJumps }: Evidence): readonly Stay[] {
  return actions
    .filter(({ machine, startedAt }) => machine === name && startedAt.length > 0)
    .filter((action) => !isRefusal(action, action.ends[0]))
    .map((action) => {
      const unknownMs = action.forgottenAt ? action.forgottenAt + FORGOTTEN_MS : Number.POSITIVE_INFINITY;
      const end = isForgotten(action, longJumps) ? action.ends.at(-1) : action.ends[0];
      const toMs = end?.at ?? unknownMs;
      const starts = action.startedAt.filter((at) => at <= toMs);
      return {
        action,
        fromMs: Math.min(...action.startedAt),
        lastStartMs: Math.max(...starts, Math.min(...action.startedAt)),
        toMs,
        commands: [],
      };
    })
    .toSorted((a, b) => a.fromMs - b.fromMs);
}

/** Gives each command to the action that it belongs to; those that belong to none are findings. */
function attribute({ name, commands }: MachineRecord, stays: readonly Stay[]): readonly Finding[] {
  const findings: Finding[] = [];
  for (const { at, action: command } of commands) {
    const open = stays.filter(({ fromMs, toMs }) => fromMs - TOLERANCE_MS <= at && at <= toMs + TOLERANCE_MS);
    const late = stays.filter(
      ({ action, toMs }) => action.ends[0]?.state !== "SUCCESS" && toMs < at && at <= toMs + LATE_MS,
    );
    const begun = ({ action }: Stay) => Math.max(...action.startedAt.filter((started) => started <= at), 0);
    const candidates = [...open.toSorted((a, b) => begun(b) - begun(a)), ...late];
    const owner = candidates.find((stay) => allows(stay, [...stay.commands, command])) ?? candidates[0];
    if (owner) owner.commands.push(command);
    else {
      const text = `${name} was told ${command} at ${timeOf(at)}, when no action was at it`;
      findings.push({ rule: "no command without its action", text });
    }
  }
  return findings;
}

function tooOften(stay: Stay, stays: readonly Stay[]): readonly Finding[] {
  if (allows(stay, stay.commands) || isRightAgain(stay, stays)) return [];
  const text = `${labelOf(stay.action)} had ${stay.action.machine} do ${stay.commands.join(", ")}, started ${
    stay.action.startedAt.length
  } times`;
  return [{ rule: "no command more often than its action", text }];
}

/** An idempotent action that was lost with its worker runs again, and has to act again if another one came in between. */
function isRightAgain(stay: Stay, stays: readonly Stay[]): boolean {
  const { name, startedAt } = stay.action;
  const came = (other: Stay) => other.fromMs < stay.lastStartMs && other.toMs > stay.fromMs;
  const wanted = name === "power-on" ? "on" : "off";
  return (
    (name === "power-on" || name === "power-off") &&
    stays.some((other) => other !== stay && came(other)) &&
    stay.commands.length <= startedAt.length &&
    stay.commands.every((command) => command === wanted)
  );
}

/** What an action may do to its machine in all its runs; asking an operating system to shut down does no harm twice. */
function allows({ action }: Stay, commands: readonly PowerCommandName[]): boolean {
  const times = (name: PowerCommandName) => commands.filter((command) => command === name).length;
  switch (action.name) {
    case "power-on":
      return isPart(commands, ["on"]);
    case "power-off":
      return (
        times("soft-off") <= (action.environment["MODE"] === "hard" ? 0 : action.startedAt.length) &&
        times("off") <= 1 &&
        times("off") + times("soft-off") === commands.length
      );
    case "power-cycle":
      return cyclePlans(action).some((plan) => isPart(commands, plan));
    default:
      return commands.length === 0;
  }
}

function cyclePlans({ environment }: ActionRecord): readonly (readonly PowerCommandName[])[] {
  // A machine that is off is powered on.
  return environment["OFF_DURATION"] === "0s" ? [["cycle"], ["on"]] : [["off", "on"], ["on"]];
}

function isPart(commands: readonly PowerCommandName[], plan: readonly PowerCommandName[]): boolean {
  return commands.length <= plan.length && commands.every((command, index) => command === plan[index]);
}

/** A success whose machine is not, or was not, in the state it speaks of. */
function notHappened(stay: Stay, machine: MachineRecord, stays: readonly Stay[]): readonly Finding[] {
  const { action, toMs } = stay;
  if (action.ends[0]?.state !== "SUCCESS") return [];
  const claim = (text: string): readonly Finding[] => [
    { rule: "success means that it happened", text: `${labelOf(action)} succeeded, but ${text}` },
  ];
  // The action says so itself: it believed the BMC, because nothing else could tell.
  const believed = /confirmed by the BMC, too fast to observe off/.test(action.ends[0].message);
  const done = cyclePlans(action).some((plan) => stay.commands.join() === plan.join());
  if (action.name === "power-cycle" && !done && !believed) {
    return claim(`${machine.name} did ${stay.commands.join(", ") || "nothing"}`);
  }
  // Another action may have changed the machine before this one's start or end was reported again.
  if (stays.some((other) => other !== stay && other.fromMs <= toMs && other.toMs >= stay.fromMs)) return [];
  if (action.name === "set-pxe-once") {
    const override = lastBefore(machine.overrides, toMs);
    const kept = override?.device === "pxe" && override.enabled === "once";
    return kept ? [] : claim(`the boot override was ${override?.device} ${override?.enabled}`);
  }
  const wanted = action.name === "power-off" ? "off" : "on";
  const state = lastBefore(machine.power, toMs)?.state;
  return state === wanted ? [] : claim(`${machine.name} was ${state}`);
}

/** A machine that was powered off, told to boot from the network and powered on has done so. */
function bootsMissing(machine: MachineRecord, stays: readonly Stay[]): readonly Finding[] {
  return stays.flatMap((stay, place) => {
    const [before, on] = [stays[place - 1], stays[place + 1]];
    const whole = [before, stay, on].every((each) => each?.action.workflow === stay.action.workflow);
    const names = [before, stay, on].map((each) => each?.action.name).join();
    if (!whole || !before || !on || names !== "power-off,set-pxe-once,power-on") return [];
    const own = [before, stay, on];
    if (stays.some((other) => !own.includes(other) && other.fromMs < on.toMs && other.toMs > before.fromMs))
      return [];
    if (own.some(({ action }) => action.ends[0]?.state !== "SUCCESS")) return [];
    const boot = machine.boots.find(({ at }) => at >= stay.fromMs && at <= on.toMs + TOLERANCE_MS);
    if (boot?.device === "pxe" && boot.overridden) return [];
    const text = `${stay.action.workflow} succeeded, but ${machine.name} booted ${boot?.device ?? "nothing"}`;
    return [{ rule: "success means that it happened", text }];
  });
}

/** Two actions at one machine at a time, where no worker ended in between and left one of them behind. */
function together(stays: readonly Stay[], interruptions: readonly number[]): readonly Finding[] {
  return stays.flatMap((stay, place) =>
    stays.slice(place + 1).flatMap((other) => {
      const [first, second] = stay.lastStartMs <= other.lastStartMs ? [stay, other] : [other, stay];
      if (second.lastStartMs >= first.toMs || endIsUnknown(first)) return [];
      if (interruptions.some((at) => first.fromMs - TOLERANCE_MS <= at && at <= second.toMs)) return [];
      const text = `${labelOf(second.action)} began while ${labelOf(first.action)} was at ${first.action.machine}`;
      return [{ rule: "one action a machine at a time", text }];
    }),
  );
}

function endIsUnknown({ action }: Stay): boolean {
  return action.forgottenAt !== undefined && action.ends.length === 0;
}

function lastBefore<T extends { readonly at: number }>(history: readonly T[], at: number): T | undefined {
  return history.findLast((entry) => entry.at <= at);
}

function keyOf({ workflow, index, name }: ActionRecord): string {
  return `${workflow}/${index + 1}-${name}`;
}

function labelOf(action: ActionRecord): string {
  return `${keyOf(action)} (${action.machine})`;
}

function timeOf(at: number): string {
  return new Date(at).toISOString().slice(11, 23);
}
