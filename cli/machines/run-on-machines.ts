import { Readable } from "node:stream";
import { loadAction } from "../../actions/catalogue.ts";
import type { Action } from "../../actions/harness/action.ts";
import { commonInput } from "../../actions/harness/input/common-input.ts";
import { fieldGroups, parseFlags } from "../../actions/harness/input/flags.ts";
import { readInput } from "../../actions/harness/input/read-input.ts";
import { failedResult } from "../../actions/harness/result/write-result.ts";
import { runNamed } from "../../actions/run-named.ts";
import { BmcError } from "../../shared/contract/bmc-error.ts";
import { serialiseConnection } from "../../shared/contract/connection.ts";
import { flagOfVariable, givenValue, isConnectionVariable } from "../../shared/contract/given.ts";
import type { ActionResult } from "../../shared/contract/result.ts";
import { UncaughtErrors } from "../../shared/uncaught-errors.ts";
import { ActionSlots, MachineLocks } from "../../worker/core/turns/turns.ts";
import type { Machine } from "../../worker/machines/inventory.ts";
import { SecretCommands } from "../../worker/machines/secret-commands.ts";
import { actionLibrary } from "../action-library.ts";
import { listenForStop } from "../stop-signal.ts";
import { endWithUsage } from "../usage-problem.ts";
import { chooseMachines, selectionIn } from "./select-machines.ts";
import { formatOf, openOutput } from "./show-results.ts";

const MACHINE_PLACE = "{machine}";
type Environment = Readonly<Record<string, string>>;

/** Runs an action on machines of an inventory, many at a time. Ends the process with the highest exit code. */
export async function runOnMachines(name: string, argv: readonly string[]): Promise<never> {
  const action = await loadAction(name);
  const selection = selectionIn(argv);
  const flags = action && parseFlags(action, selection.rest);
  if (!action || !flags || flags.print) return runNamed("pbnj-worker action", [name, ...argv]);
  const command = `pbnj-worker action ${name}`;
  const { inventory, machines, problems } = chooseMachines(selection);
  const env = { ...(process.env as Environment), ...flags.values };
  problems.push(...flags.problems, ...(await inputProblems(action, env, flags.values)));
  for (const { env: variable } of filesWritten(action)) {
    if (machines.length > 1 && env[variable] && !env[variable].includes(MACHINE_PLACE)) {
      problems.push(
        `${nameOf(variable, flags.values)} needs ${MACHINE_PLACE} in it, so that each machine has its own file`,
      );
    }
  }
  if (!inventory || problems.length > 0) endWithUsage(command, problems);

  const stop = listenForStop();
  const slots = new ActionSlots(+selection.concurrency);
  const locks = new MachineLocks();
  const commands = new SecretCommands();
  const uncaughtErrors = new UncaughtErrors();
  const output = openOutput(action, formatOf(env), machines);
  const runOne = async (machine: Machine): Promise<number> => {
    const held: (() => void)[] = [];
    try {
      // Two entries may be the same BMC.
      held.push(await locks.acquire(machine.lockKey, stop.signal));
      held.push(await slots.acquire(stop.signal));
      const connection = await inventory.resolveConnection(machine, { commands, signal: stop.signal });
      const own = ownFiles(action, env, machine);
      const result = await uncaughtErrors.isolate(
        (signal) => runAction(action, own, serialiseConnection(connection), { signal, by: stop.by }),
        stop.signal,
      );
      return await output.add(result, stop.by());
    } catch (thrown) {
      const error = stop.signal.aborted ? BmcError.from(stop.signal.reason) : BmcError.from(thrown);
      return await output.add({ ...failedResult(action.name, error), machine: machine.name }, stop.by());
    } finally {
      for (const release of held) release();
    }
  };
  const exitCodes = await Promise.all(machines.map(runOne));
  await output.end();
  process.exit(Math.max(...exitCodes));
}

/** What is wrong with the action's own input, which is the same for every machine. */
async function inputProblems(action: Action, env: Environment, flags: Environment): Promise<string[]> {
  const isOwn = (name: string) => !isConnectionVariable(name);
  const conflicts = Object.keys(env).filter((name) => !isOwn(name) && env[name] !== "");
  const connection = JSON.stringify({ host: "any", username: "any", password: "any" });
  const read = await readInput(action, {
    env: { ...filtered(env, isOwn), BMC_CONNECTION_FILE: "-" },
    flags: filtered(flags, isOwn),
    stdin: () => Readable.from([Buffer.from(connection)]),
    signal: AbortSignal.timeout(10_000),
  });
  return [
    ...conflicts.map((name) => `${nameOf(name, flags)} cannot be combined with --inventory`),
    ...(read.ok ? [] : read.problems),
  ];
}

function filtered(values: Environment, keeps: (name: string) => boolean): Environment {
  return Object.fromEntries(Object.entries(values).filter(([name]) => keeps(name)));
}

/** A variable as the user wrote it. */
function nameOf(variable: string, flags: Environment): string {
  return Object.hasOwn(flags, variable) ? flagOfVariable(variable) : variable;
}

function filesWritten(action: Action) {
  return fieldGroups(action).flatMap(([, fields]) => fields.filter(({ written }) => written));
}

/** The environment with the machine's name in the names of files that the action writes. */
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
  { signal, by }: ReturnType<typeof listenForStop>,
): Promise<ActionResult> {
  const program = await actionLibrary.find(action.name);
  const level = givenValue(commonInput.logLevel.env, { env, flags: {} }) ? {} : { LOG_LEVEL: "warn" };
  const ended = await program?.run({
    env: { ...env, ...level, BMC_CONNECTION_FILE: "-" },
    argv: [],
    stdin: connection,
    onLog: ({ line, stream }) => void (stream === "stderr" && process.stderr.write(`${line}\n`)),
    signal,
    stoppedBy: by,
  });
  const { hint: _, ...result } =
    ended?.result ?? failedResult(action.name, new BmcError("internal", "no such action"));
  return result;
}
