import { Readable } from "node:stream";
import { loadAction } from "../../actions/catalogue.ts";
import type { Action } from "../../actions/harness/action.ts";
import { commonInput } from "../../actions/harness/input/common-input.ts";
import { fieldGroups, parseFlags } from "../../actions/harness/input/flags.ts";
import { readInput } from "../../actions/harness/input/read-input.ts";
import { failedResult } from "../../actions/harness/result/write-result.ts";
import { notConfirmed } from "../../actions/harness/run/program.ts";
import { INVENTORY_FLAGS } from "../../actions/inventory-flags.ts";
import { runNamed } from "../../actions/run-named.ts";
import { systemClock } from "../../shared/clock.ts";
import { confirm } from "../../shared/confirm.ts";
import { BmcError } from "../../shared/contract/bmc-error.ts";
import { serialiseConnection } from "../../shared/contract/connection.ts";
import { EXIT_OK, exitCodeOf } from "../../shared/contract/exit-code.ts";
import { flagOfVariable, givenValue, isConnectionVariable } from "../../shared/contract/given.ts";
import { progressOf } from "../../shared/contract/progress.ts";
import type { ActionResult } from "../../shared/contract/result.ts";
import { isLogged, LOG_LEVELS, type LogLevel } from "../../shared/logger.ts";
import { printable } from "../../shared/printable.ts";
import { hiddenProgress, openProgressLines, type ProgressLines } from "../../shared/progress-lines.ts";
import { UncaughtErrors } from "../../shared/uncaught-errors.ts";
import type { LogLine } from "../../worker/core/action/action.ts";
import { readLogLine } from "../../worker/core/action/log-line.ts";
import { ActionSlots, MachineLocks } from "../../worker/core/queue/action-queue.ts";
import { StartLimits } from "../../worker/core/queue/start-limits.ts";
import type { Machine } from "../../worker/machines/inventory.ts";
import { pauseNote } from "../../worker/machines/pause.ts";
import { SecretCommands } from "../../worker/machines/secret-commands.ts";
import { startLimitsOf } from "../../worker/machines/start-limits-of.ts";
import { actionLibrary } from "../action-library.ts";
import { actionFlags } from "../completion/action-flags.ts";
import { listenForStop } from "../stop-signal.ts";
import { endWithUsage } from "../usage-problem.ts";
import { chooseMachines, countedPauses, selectionIn } from "./select-machines.ts";
import { type Format, formatOf, openOutput } from "./show-results.ts";

const MACHINE_PLACE = "{machine}";
type Environment = Readonly<Record<string, string>>;

/** Runs an action on machines of an inventory, many at the same time. Ends the process with the highest exit code. */
export async function runOnMachines(name: string, argv: readonly string[]): Promise<never> {
  const action = await loadAction(name);
  const { selection, rest } = selectionIn(argv, action && actionFlags(action).map((flag) => flag.name));
  const flags = action && parseFlags(action, rest, INVENTORY_FLAGS);
  if (!action || !flags || flags.print) {
    return runNamed("pbnj-worker action", [name, ...argv], INVENTORY_FLAGS);
  }
  const command = `pbnj-worker action ${name}`;
  const { inventory, machines, problems } = chooseMachines(selection);
  const env = { ...(process.env as Environment), ...flags.values };
  problems.push(
    ...flags.problems,
    ...(await inputProblems(action, { ...env, ...flags.meant }, flags.values)),
  );
  for (const { env: variable } of filesWritten(action)) {
    if (machines.length > 1 && env[variable] && !env[variable].includes(MACHINE_PLACE)) {
      problems.push(
        `${nameOf(variable, flags.values)} needs ${MACHINE_PLACE} in it, so that each machine has its own file`,
      );
    }
  }
  if (!inventory || problems.length > 0) endWithUsage(command, problems);

  const stop = listenForStop();
  await confirmAll(action, { env, flags: flags.values, machines, command }, stop.signal);
  const slots = new ActionSlots(+selection.concurrency);
  const locks = new MachineLocks();
  const limits = new StartLimits(systemClock);
  const commands = new SecretCommands();
  const uncaughtErrors = new UncaughtErrors();
  const format = formatOf(env);
  const log = openActionsLog(format, levelIn(env));
  const { lines } = log;
  const counted = countedPauses(machines, selection.machine ?? []);
  const output = openOutput(action, { format, machines, lines });
  const runOne = async (machine: Machine): Promise<number> => {
    if (machine.paused) {
      const error = new BmcError("state", pauseNote(machine.paused));
      await output.skip({ ...failedResult(action.name, error), machine: machine.name });
      return counted.has(machine.name) ? exitCodeOf(error.class) : EXIT_OK;
    }
    const held: (() => void)[] = [];
    const end = (result: ActionResult) => {
      lines.end(machine.name);
      return output.add(result, stop.by());
    };
    try {
      lines.note(machine.name, "waiting for its turn");
      // Two entries may have the same BMC.
      held.push(await locks.acquire(machine.lockKey, stop.signal));
      const show = (limit: string) => lines.show(machine.name, { text: `waiting for ${limit}` });
      const limited = startLimitsOf(inventory.limits?.() ?? [], machine.labels, action.name);
      const start = await limits.acquire(limited, stop.signal, show);
      held.push(start.release);
      held.push(await slots.acquire(stop.signal));
      start.started();
      lines.show(machine.name, { text: "waiting for the BMC" });
      const connection = await inventory.resolveConnection(machine, { commands, signal: stop.signal });
      const own = { ...ownFiles(action, env, machine), LOG_LEVEL: log.level };
      const onLog = ({ line, stream }: LogLine) => void (stream === "stderr" && log.add(machine.name, line));
      const result = await uncaughtErrors.isolate(
        (signal) => runAction(action, own, serialiseConnection(connection), { signal, by: stop.by, onLog }),
        stop.signal,
      );
      return await end(result);
    } catch (thrown) {
      const error = stop.signal.aborted ? BmcError.from(stop.signal.reason) : BmcError.from(thrown);
      return await end({ ...failedResult(action.name, error), machine: machine.name });
    } finally {
      for (const release of held) release();
    }
  };
  const exitCodes = await Promise.all(machines.map(runOne));
  lines.clear();
  await output.end();
  process.exit(Math.max(...exitCodes));
}

interface Asked {
  readonly env: Environment;
  readonly flags: Environment;
  readonly machines: readonly Machine[];
  readonly command: string;
}

/**
 * Names every machine, says what would be lost on each, and asks for confirmation. Ends the process with `usage` unless the
 * user confirms.
 */
async function confirmAll(
  action: Action,
  { env, flags, machines, command }: Asked,
  signal: AbortSignal,
): Promise<void> {
  if (!action.question) return;
  const read = await readOwnInput(action, env, flags);
  if (!read.ok || read.input.common.dryRun) return;
  const unconfirmed = action.question({ ...read.input.own, yes: false });
  for (const { name } of machines) process.stderr.write(`${name}: ${unconfirmed}\n`);
  if (action.question(read.input.own) === undefined) return;
  const hasTerminal = process.stdin.isTTY && process.stderr.isTTY;
  const isConfirmed = hasTerminal ? await confirm(`On ${machines.length} machines?`, signal) : undefined;
  if (!isConfirmed) endWithUsage(command, [notConfirmed(isConfirmed)]);
}

/** Returns what is wrong with the action's own input, which is the same for every machine. */
async function inputProblems(action: Action, env: Environment, flags: Environment): Promise<string[]> {
  const conflicts = Object.keys(env).filter((name) => isConnectionVariable(name) && env[name] !== "");
  const read = await readOwnInput(action, env, flags);
  return [
    ...conflicts.map((name) => `${nameOf(name, flags)} cannot be combined with --inventory`),
    ...(read.ok ? [] : read.problems),
  ];
}

function filtered(values: Environment, keeps: (name: string) => boolean): Environment {
  return Object.fromEntries(Object.entries(values).filter(([name]) => keeps(name)));
}

/** Returns the name of a variable in the form that the user wrote. */
function nameOf(variable: string, flags: Environment): string {
  return Object.hasOwn(flags, variable) ? flagOfVariable(variable) : variable;
}

function filesWritten(action: Action) {
  return fieldGroups(action).flatMap(([, fields]) => fields.filter(({ written }) => written));
}

/** Returns the log level, or undefined if none is given. */
function levelIn(env: Environment): LogLevel | undefined {
  const given = givenValue(commonInput.logLevel.env, { env, flags: {} });
  return given && LOG_LEVELS.find((level) => level === given.text);
}

/** Returns the environment with the machine's name added to the names of files that the action writes. */
function ownFiles(action: Action, env: Environment, { name }: Machine): Environment {
  const files = filesWritten(action).flatMap(({ env: variable }) => {
    const path = env[variable];
    return path === undefined ? [] : [[variable, path.replaceAll(MACHINE_PLACE, name)]];
  });
  return { ...env, ...Object.fromEntries(files) };
}

async function runAction(
  action: Action,
  env: Environment,
  connection: string,
  { signal, by, onLog }: ReturnType<typeof listenForStop> & { readonly onLog: (line: LogLine) => void },
): Promise<ActionResult> {
  const program = await actionLibrary.find(action.name);
  const ended = await program?.run({
    env: { ...env, BMC_CONNECTION_FILE: "-" },
    argv: [],
    stdin: connection,
    onLog,
    signal,
    stoppedBy: by,
  });
  const { hint: _, ...result } =
    ended?.result ?? failedResult(action.name, new BmcError("internal", "no such action"));
  return result;
}

function readOwnInput(action: Action, env: Environment, flags: Environment) {
  const isOwn = (name: string) => !isConnectionVariable(name);
  const connection = JSON.stringify({ host: "any", username: "any", password: "any" });
  return readInput(action, {
    env: { ...filtered(env, isOwn), BMC_CONNECTION_FILE: "-" },
    flags: filtered(flags, isOwn),
    stdin: () => Readable.from([Buffer.from(connection)]),
    signal: AbortSignal.timeout(10_000),
  });
}

interface ActionsLog {
  readonly lines: ProgressLines;
  /** The log level for the actions. */
  readonly level: LogLevel;
  /** Receives a log line from a machine's action. */
  add(machine: string, line: string): void;
}

/**
 * Shows the actions' progress, and writes warnings and errors, or the level in `asked`, to stderr. Progress is JSON if the
 * results are JSON.
 */
function openActionsLog(format: Format, asked: LogLevel | undefined): ActionsLog {
  const { stderr } = process;
  const isWanted = stderr.isTTY || isLogged("info", asked ?? "info");
  const isJson = format === "json" && !stderr.isTTY;
  const lines = isWanted && !isJson ? openProgressLines(stderr) : hiddenProgress();
  return {
    lines,
    level: asked === "debug" ? "debug" : "info",
    add(machine, line) {
      const { severity, message, fields } = readLogLine(line);
      const progress = progressOf(message, fields);
      if (progress) lines.show(machine, progress);
      const isShown = progress ? isWanted && isJson : isLogged(severity, asked ?? "warn");
      if (isShown) lines.above(() => stderr.write(`${printable(line)}\n`));
    },
  };
}
