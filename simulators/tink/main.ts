import { type EventEmitter, once } from "node:events";
import { readFile } from "node:fs/promises";
import { Command, InvalidArgumentError } from "commander";
import { parseDurationMs } from "../../shared/duration.ts";
import { startTinkServer, type TinkServer } from "./server.ts";
import { isOver, type Workflow, type WorkflowAction } from "./workflow.ts";
import type { Submission } from "./workflow-server.ts";

interface Flags {
  readonly host: string;
  readonly port: number;
  readonly template: readonly string[];
  readonly map: Readonly<Record<string, string>>;
  readonly namespace: string;
  readonly untilDone: boolean;
}

/** The part of a simulated server that its program uses, which the deprecated API's server has as well. */
type ProgramServer = Pick<TinkServer, "address" | "close" | "stop" | "submit" | "workflows"> & {
  readonly board: EventEmitter<{
    change: [{ readonly workflow: Workflow; readonly action?: WorkflowAction }];
  }>;
};

/** The command `tink`: runs the simulated tink-server and prints a JSON line for every change. */
export function tinkCommand(): Command {
  const description = "simulate a tink-server: submit templates as workflows and print what becomes of them";
  return serverCommand("tink", description, ({ host, port, hold }: Flags & { readonly hold: number }) =>
    startTinkServer({ host, port, holdMs: hold }),
  ).option("--hold <duration>", "how long a call without an answer is held", durationOf, 60_000);
}

/** Makes the command of a simulated server. `start` also gets the command's own flags. */
export function serverCommand<F extends Flags>(
  name: string,
  description: string,
  start: (flags: F) => Promise<ProgramServer>,
): Command {
  return new Command(name)
    .description(description)
    .option("--host <address>", "address to listen on", "127.0.0.1")
    .option("--port <number>", "port to listen on, 0 for a free one", portOf, 42_113)
    .option("--template <file>", "submit this template as a workflow (repeatable)", collected, [])
    .option("--map <key=value>", "a value for {{ .key }} in the templates (repeatable)", mapped, {})
    .option("--namespace <name>", "the namespace that the workflows are in", "default")
    .option("--until-done", "exit once every workflow has ended: 0 when all succeeded, else 1", false)
    .action(async (flags: F, command: Command) => {
      if (flags.untilDone && flags.template.length === 0) command.error("--until-done needs a --template");
      const submissions = await Promise.all(
        flags.template.map(async (file) => ({
          template: await readFile(file, "utf8"),
          file,
          values: flags.map,
          namespace: flags.namespace,
        })),
      ).catch((cause: Error) => command.error(cause.message));
      const started = () => start(flags);
      process.exitCode = await run(started, flags, submissions).catch((cause: Error) =>
        command.error(cause.message),
      );
    });
}

async function run(
  start: () => Promise<ProgramServer>,
  flags: Flags,
  submissions: readonly Submission[],
): Promise<number> {
  const stopped = new AbortController();
  const onSignal = () => stopped.abort();
  process.once("SIGINT", onSignal).once("SIGTERM", onSignal);
  const server = await start();
  try {
    print({ event: "listening", address: server.address });
    server.board.on("change", ({ workflow, action }) => print(described(workflow, action)));
    for (const submission of submissions) server.submit(submission);
    while (!stopped.signal.aborted && !(flags.untilDone && server.workflows().every(isOver))) {
      await once(server.board, "change", { signal: stopped.signal }).catch(() => undefined);
    }
    return flags.untilDone && !allSucceeded(server) ? 1 : 0;
  } finally {
    process.off("SIGINT", onSignal).off("SIGTERM", onSignal);
    // The last acknowledgement is still being sent.
    await server.stop("orderly");
    await server.close();
  }
}

function allSucceeded(server: ProgramServer): boolean {
  return server.workflows().every(({ state }) => state === "SUCCESS");
}

function described(
  workflow: Workflow,
  action: WorkflowAction | undefined,
): Readonly<Record<string, unknown>> {
  const change = { event: "change", workflow: workflow.id, state: workflow.state, agent: workflow.agentId };
  if (action === undefined) return change;
  const { taskName, name, state, message, startedAt, stoppedAt, duration } = action;
  return { ...change, action: { task: taskName, name, state, message, startedAt, stoppedAt, duration } };
}

function print(line: Readonly<Record<string, unknown>>): void {
  process.stdout.write(`${JSON.stringify({ at: new Date().toISOString(), ...line })}\n`);
}

function portOf(text: string): number {
  const port = Number(text);
  if (!/^\d+$/.test(text) || port > 65_535) throw new InvalidArgumentError("It is not a port.");
  return port;
}

function durationOf(text: string): number {
  const ms = parseDurationMs(text);
  if (ms === undefined) throw new InvalidArgumentError("Write it as 500ms, 45s or 1m30s.");
  return ms;
}

function collected(file: string, files: readonly string[]): readonly string[] {
  return [...files, file];
}

function mapped(text: string, map: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const equals = text.indexOf("=");
  if (equals < 1) throw new InvalidArgumentError("Write it as key=value.");
  return { ...map, [text.slice(0, equals)]: text.slice(equals + 1) };
}
