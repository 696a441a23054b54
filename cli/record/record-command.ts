import { access } from "node:fs/promises";
import { Readable } from "node:stream";
import { type Command, Option } from "commander";
import { catalogue, loadAction } from "../../actions/catalogue.ts";
import { fieldGroups, parseFlags } from "../../actions/harness/input/flags.ts";
import { openStdin } from "../../actions/harness/input/hidden-input.ts";
import { type ActionDescription, flagOf } from "../../actions/harness/input/input.ts";
import { type ActionInput, readInput } from "../../actions/harness/input/read-input.ts";
import { replaceFile } from "../../actions/harness/input/replace-file.ts";
import { createActionLogger } from "../../actions/harness/result/logger.ts";
import { writeText } from "../../actions/harness/result/write-text.ts";
import type { RecordingLimits } from "../../shared/bmc/recording/read-tree.ts";
import { BmcError } from "../../shared/contract/bmc-error.ts";
import { serialiseConnection } from "../../shared/contract/connection.ts";
import { EXIT_OK, exitCodeOf } from "../../shared/contract/exit-code.ts";
import { parseArguments } from "../../shared/contract/given.ts";
import { count } from "../../shared/count.ts";
import { formatSeconds, parseDurationMs } from "../../shared/duration.ts";
import { suggestion } from "../../shared/nearest-name.ts";
import { printableLine, printableLines } from "../../shared/printable.ts";
import { openProgressLines } from "../../shared/progress-lines.ts";
import { writeMockup } from "../../shared/recording/mockup.ts";
import { readRecording } from "../../shared/recording/read-recording.ts";
import { compress, type Recording } from "../../shared/recording/recording.ts";
import { redactor } from "../../shared/secret-forms.ts";
import { textOf } from "../../shared/text-of.ts";
import { readWords } from "../../shared/unknown-arguments.ts";
import { SecretCommands } from "../../worker/machines/secret-commands.ts";
import { chooseMachines } from "../machines/select-machines.ts";
import { listenForStop } from "../stop-signal.ts";
import { endWithUsage } from "../usage-problem.ts";
import { makeRecording } from "./make-recording.ts";

const COMMAND = "pbnj-worker record";
const [MOST_KEPT, LONGEST_KEPT] = [50, 200];
const FORMATS = ["recording", "mockup"];

interface Flags {
  readonly action?: string;
  readonly file?: string;
  readonly format: string;
  readonly inventory?: string;
  readonly keep: readonly string[];
  readonly maxRequests: string;
  readonly maxMib: string;
  readonly maxTime: string;
  readonly show?: string;
}

/** Flags with which other commands take several machines. */
const SEVERAL = ["--machine", "--selector", "--all"];

/** A description with which the connection is read like an action's. */
const ONLY_CONNECTION: ActionDescription = { name: "record", summary: "", idempotent: true, input: {} };

/** `pbnj-worker record`. */
export function defineRecord(command: Command): void {
  command
    .usage("[options] <machine | flags>")
    .description(
      "Record a BMC for a bug report, a test or a lab, without names or passwords. It only reads from the BMC, unless you pass --action. " +
        "Name a machine of --inventory, or use the connection flags of an action, such as --bmc-host.",
    )
    .option("--action <name>", "also run this action, and record each of its requests; its flags follow")
    .option(
      "--file <file>",
      "where to; default: <vendor>-<model>.recording.json.gz, or a folder for a mockup",
    )
    .addOption(
      new Option("--format <recording|mockup>", "what to write; a mockup has the Redfish tree only").default(
        "recording",
      ),
    )
    .option("--inventory <file>", "the inventory that has the machine")
    .option(
      "--keep <text>",
      "keep this text, such as a model, which would be replaced; may be repeated",
      (text: string, before: readonly string[]) => [...before, text],
      [],
    )
    .option("--max-requests <number>", "limit of requests", "3000")
    .option("--max-mib <number>", "limit of what is read, in MiB", "32")
    .option("--max-time <duration>", "limit of the time", "10m")
    .option("--show <file>", "print everything that a recording holds, and nothing else")
    .allowUnknownOption()
    .allowExcessArguments()
    .action(async (flags: Flags) => {
      process.exit(flags.show === undefined ? await record(command, flags) : await show(flags.show));
    });
}

async function show(file: string): Promise<number> {
  try {
    const recording = await readRecording(file);
    await writeText(process.stdout, `${printableLines(JSON.stringify(recording, undefined, 2))}\n`);
    return EXIT_OK;
  } catch (thrown) {
    process.stderr.write(`${printableLine(`${COMMAND}: ${textOf(thrown)}`)}\n`);
    return exitCodeOf("usage");
  }
}

async function record(command: Command, flags: Flags): Promise<number> {
  const rest = command.args;
  const problems: string[] = [];
  const limits = limitsOf(flags, problems);
  if (!FORMATS.includes(flags.format)) {
    problems.push(`--format is not one of ${FORMATS.join(", ")}${suggestion(flags.format, FORMATS)}`);
  }
  if (flags.keep.length > MOST_KEPT) problems.push(`--keep is given more than ${MOST_KEPT} times`);
  if (flags.keep.some((text) => text.trim() === "" || text.length > LONGEST_KEPT)) {
    problems.push(`--keep is not a text of 1 to ${LONGEST_KEPT} characters`);
  }
  const action = flags.action === undefined ? undefined : await loadAction(flags.action);
  if (flags.action !== undefined && !action)
    problems.push(`there is no action ${JSON.stringify(flags.action)}${suggestion(flags.action, catalogue)}`);
  const ownFlags = command.options.map((option) => ({ name: String(option.long) }));
  const others = fieldGroups(action ?? ONLY_CONNECTION).flatMap(([, fields]) => fields.map(flagOf));
  // For the command's own flags that are misspelt; all problems come from the action's flags.
  readWords(command, { others });
  const stop = listenForStop();
  let target: Awaited<ReturnType<typeof readTarget>>;
  try {
    target = await readTarget(action ?? ONLY_CONNECTION, { ...flags, rest, ownFlags }, problems, stop.signal);
  } catch (thrown) {
    // The machine is paused, or its secrets cannot be read.
    return failed(thrown, stop, (text) => text);
  }
  const { input, what } = target;
  if (flags.file !== undefined && flags.format === "mockup" && (await exists(flags.file))) {
    problems.push(`--file: ${flags.file} exists`);
  }
  if (!input || problems.length > 0) endWithUsage(COMMAND, problems);

  const { connection } = input;
  const lines = openProgressLines(process.stderr);
  const redact = redactor({ username: connection.username, connection, own: input.own });
  const startedMs = performance.now();
  try {
    const log = createActionLogger("warn", {});
    const progress = (text: string) => lines.note(what, text);
    const made = await makeRecording(action, input, {
      limits,
      log,
      signal: stop.signal,
      progress,
      keep: flags.keep,
    });
    const { recording, text, result, failures } = made;
    lines.clear();
    const file = flags.file ?? (await freeName(recording, flags.format));
    const left = await write(file, flags.format, recording, text);
    const tookMs = performance.now() - startedMs;
    const shown = result?.data === undefined ? undefined : action?.table?.(result.data);
    if (shown) await writeText(process.stdout, `${shown}\n\n`);
    await writeText(
      process.stdout,
      `${printableLines(summaryOf({ recording, file, tookMs, left, failures }))}\n`,
    );
    return result?.class ? exitCodeOf(result.class, stop.by()) : EXIT_OK;
  } catch (thrown) {
    lines.clear();
    return failed(thrown, stop, redact);
  }
}

/** Prints why recording failed. Returns the exit code. */
function failed(
  thrown: unknown,
  stop: ReturnType<typeof listenForStop>,
  redact: (text: string) => string,
): number {
  const error = BmcError.from(stop.signal.aborted ? stop.signal.reason : thrown);
  process.stderr.write(`${printableLine(`${COMMAND}: ${redact(error.message)} (${error.class})`)}\n`);
  return exitCodeOf(error.class, stop.by());
}

/** Reads the connection and the action's input from flags and variables, or from a machine in the inventory. */
async function readTarget(
  action: ActionDescription,
  {
    rest,
    ownFlags,
    ...flags
  }: Flags & { readonly rest: readonly string[]; readonly ownFlags: readonly { readonly name: string }[] },
  problems: string[],
  signal: AbortSignal,
): Promise<{ readonly input: ActionInput<ActionDescription["input"]> | undefined; readonly what: string }> {
  const { flags: given, strays } = parseArguments(rest);
  const [machine, ...others] = strays;
  const words = given.map(({ flag, value }) => (value === undefined ? flag : `${flag}=${value}`));
  const own = parseFlags(action, words, ownFlags);
  // Without an inventory, --machine only names the machine of the connection.
  const several = flags.inventory === undefined ? SEVERAL.filter((flag) => flag !== "--machine") : SEVERAL;
  const selecting = given.find(({ flag }) => several.includes(flag))?.flag;
  if (selecting !== undefined || (others.length > 0 && flags.inventory !== undefined)) {
    const what = selecting ?? "more than one machine";
    problems.push(`${what} is not possible: a recording is of one BMC, so name one machine of --inventory`);
    return { input: undefined, what: "" };
  }
  problems.push(...own.problems);
  if (others.length > 0) problems.push("an unexpected argument");
  if (machine !== undefined && flags.inventory === undefined) problems.push("a machine needs --inventory");
  if (machine === undefined && flags.inventory !== undefined) problems.push("--inventory needs a machine");
  const values = { ...own.meant, ...own.values };
  const sources = { env: process.env as Readonly<Record<string, string>>, flags: values, signal };
  if (machine === undefined || flags.inventory === undefined) {
    const read = await readInput(action, {
      ...sources,
      stdin: () => openStdin(process.stdin, process.stderr),
    });
    if (!read.ok) problems.push(...read.problems);
    return { input: read.ok ? read.input : undefined, what: read.ok ? read.input.connection.host : "" };
  }
  const chosen = chooseMachines({ inventory: flags.inventory, machine: [machine], concurrency: "1" });
  problems.push(...chosen.problems);
  if (chosen.machines.length > 1) problems.push(`${JSON.stringify(machine)} matches several machines`);
  const [found] = chosen.machines;
  if (!found || !chosen.inventory || problems.length > 0) return { input: undefined, what: machine };
  const connection = await chosen.inventory.resolveConnection(found, {
    commands: new SecretCommands(),
    signal,
  });
  const stdin = () => Readable.from([Buffer.from(serialiseConnection(connection))]);
  const read = await readInput(action, {
    ...sources,
    env: { ...sources.env, BMC_CONNECTION_FILE: "-" },
    stdin,
  });
  if (!read.ok) problems.push(...read.problems);
  return { input: read.ok ? read.input : undefined, what: machine };
}

function limitsOf(flags: Flags, problems: string[]): RecordingLimits {
  const whole = (name: string, text: string) => {
    if (/^[1-9]\d{0,6}$/.test(text)) return Number(text);
    problems.push(`${name} is not a whole number from 1 to 9999999`);
    return 1;
  };
  const ms = parseDurationMs(flags.maxTime);
  if (ms === undefined) problems.push("--max-time is not a duration, such as 90s or 10m");
  return {
    requests: whole("--max-requests", flags.maxRequests),
    bytes: whole("--max-mib", flags.maxMib) * 1_048_576,
    ms: ms ?? 1,
  };
}

async function write(
  file: string,
  format: string,
  recording: Recording,
  text: string,
): Promise<readonly string[]> {
  if (format === "mockup") return await writeMockup(file, recording);
  const problem = await replaceFile(file, file.endsWith(".gz") ? compress(text) : text);
  if (problem !== undefined) throw new BmcError("usage", `cannot write ${file}: ${problem}`);
  return [];
}

/** Returns a free file name made of vendor and model, because the machine's own name may reveal where it is. */
async function freeName({ vendor, model }: Recording, format: string): Promise<string> {
  const words = `${vendor ?? ""} ${model ?? ""}`.toLowerCase().replace(/[^a-z0-9]+/g, "-");
  const make = words.replace(/^-+|-+$/g, "").slice(0, 60) || "bmc";
  const ending = format === "mockup" ? ".mockup" : ".recording.json.gz";
  for (let number = 1; ; number++) {
    const name = `${make}${number === 1 ? "" : `-${number}`}${ending}`;
    if (!(await exists(name))) return name;
  }
}

const exists = (file: string) =>
  access(file).then(
    () => true,
    () => false,
  );

interface Summary {
  readonly recording: Recording;
  readonly file: string;
  readonly tookMs: number;
  /** Paths that a mockup cannot hold. */
  readonly left: readonly string[];
  readonly failures: readonly string[];
}

function summaryOf({ recording, file, tookMs, left, failures }: Summary): string {
  const {
    vendor,
    model,
    resources,
    refusals = {},
    unread = [],
    action,
    exchanges = [],
    commands = [],
    replaced = {},
    kept,
    amt,
  } = recording;
  const make = [vendor, model].filter(Boolean).join(" ") || (amt ? "an Intel AMT device" : "a BMC");
  const kinds = Object.entries(replaced).filter(([kind]) => kind !== "secret");
  const counted = kinds.map(([kind, times]) => `${times} × ${kind}`).join(", ");
  const { secret = 0 } = replaced;
  return [
    `Recorded ${make}: ${count(Object.keys(resources).length, "resource")}, ${Object.keys(refusals).length} refused, in ${formatSeconds(tookMs)}: ${file}`,
    ...(action
      ? [`${action.name}: ${action.message}; ${count(exchanges.length + commands.length, "exchange")}`]
      : []),
    `Replaced: ${counted === "" ? "nothing" : counted}. Removed: ${count(secret, "secret value")}.`,
    ...(kept
      ? [
          `Kept: ${
            Object.entries(kept)
              .map(([text, times]) => `${times} × ${JSON.stringify(text)}`)
              .join(", ") || "nothing"
          }.`,
        ]
      : []),
    ...failures.map((failure) => `Not recorded: ${failure}`),
    ...(unread.length > 0
      ? [`Not read: ${unread.length}, such as ${unread[0]?.path} (${unread[0]?.reason})`]
      : []),
    ...(left.length > 0 ? [`Not in the mockup: ${left.length} resources whose paths cannot be folders`] : []),
    ...(file.endsWith(".mockup")
      ? []
      : [`Look at everything that it holds before you share it: pbnj-worker record --show ${file}`]),
  ].join("\n");
}
