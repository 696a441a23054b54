import type { Command } from "commander";
import { suggestion } from "../../shared/nearest-name.ts";
import { readWords } from "../../shared/unknown-arguments.ts";
import { addMachineOptions, collectNames } from "../machines/select-machines.ts";
import { endWithUsage } from "../usage-problem.ts";
import type { ImportFlags } from "./import/import-command.ts";
import type { PinFlags } from "./pin/pin-command.ts";

const NAMES = ["pin", "import"];
const EXPECTED = "name one file, and its format with --format, as in --format csv <file>";

/** `pbnj-worker inventory`, with the subcommands `pin` and `import`. */
export function defineInventory(command: Command): void {
  command
    .usage("<pin|import> [options]")
    .helpCommand(false)
    .allowUnknownOption()
    .allowExcessArguments()
    .action(() => endWithUsage("pbnj-worker inventory", [problemWith(command)]));
  definePin(command);
  defineImport(command);
}

function definePin(parent: Command): void {
  const summary = "show the certificates of BMCs and record their fingerprints in the inventory";
  const command = parent.command("pin").summary(summary);
  command
    .description(
      "Connect to BMCs with TLS, show the certificates they present, and record the fingerprints in the inventory. Sends no " +
        "password. Without --machine, --selector and --all: all machines that have neither fingerprint nor CA.",
    )
    .option("--inventory <file>", "the inventory to read and change");
  addMachineOptions(command)
    .option("--replace <name,...>", "record changed fingerprints of these machines, too", collectNames)
    .option("--yes", "record without asking")
    .option("--concurrency <number>", "how many BMCs to connect to at a time", "50")
    .option("--timeout <duration>", "time for each connection (default: connectTimeout of the machine)")
    .option("--output <table|json|yaml>", "output format of the certificates", "table")
    .allowUnknownOption()
    .allowExcessArguments()
    .action(async (flags: PinFlags) => {
      const { pin } = await import("./pin/pin-command.ts");
      process.exit(await pin(flags, readWords(command).problems));
    });
}

function defineImport(parent: Command): void {
  const summary =
    "write an inventory from CSV, a MAAS export, Machine objects of Rufio or the nodes of Ironic";
  const command = parent.command("import").summary(summary);
  command
    .description(
      "Write an inventory from CSV, from the output of maas machines read and power-parameters, or from Machine objects of " +
        "Rufio. With --from ironic, from the nodes of the Ironic that IRONIC_URL names, with the other variables of an action by " +
        "hand. Passwords are never written to the inventory.",
    )
    .argument("[file]", "the file to read; - is stdin")
    .option("--from <ironic>", "read from this service instead of a file")
    .option("--format <auto|csv|maas|rufio>", "the format of the file", "auto")
    .option("--output <file>", "the inventory to write; - is stdout", "-")
    .option("--secrets <folder>", "write each password to <folder>/<machine>/password")
    .option("--force", "overwrite existing files")
    .allowUnknownOption()
    .allowExcessArguments()
    .action(async (_file: string | undefined, flags: ImportFlags) => {
      const { importInventory } = await import("./import/import-command.ts");
      const { operands, problems } = readWords(command, { most: 1, expected: EXPECTED });
      process.exit(await importInventory(operands[0], flags, problems));
    });
}

function problemWith(command: Command): string {
  const [word] = command.args;
  // It may be a flag with a secret, which must not be printed.
  if (word?.startsWith("-")) return readWords(command, { others: innerFlags(command) }).problems.join("; ");
  if (word === undefined) return `the command is missing: ${NAMES.join(" or ")}`;
  return `unknown command ${JSON.stringify(word)}${suggestion(word, NAMES)}`;
}

function innerFlags({ commands }: Command): readonly string[] {
  return commands.flatMap(({ options }) => options.flatMap(({ long }) => long ?? []));
}
