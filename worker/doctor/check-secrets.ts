import { BmcError } from "../../shared/contract/bmc-error.ts";
import { loginDoubt } from "../../shared/contract/secret-doubt.ts";
import { count } from "../../shared/count.ts";
import { FileProblem } from "../../shared/read-text-file.ts";
import { filesOpenToAll } from "../document/open-to-all.ts";
import { type Finding, findingOf, joinNames, okFinding, skippedFinding } from "../findings/finding.ts";
import type { Inventory, Machine } from "../machines/inventory.ts";
import { SecretCommands } from "../machines/secret-commands.ts";
import type { Examined } from "./examine.ts";
import { mapLimited } from "./map-limited.ts";
import { currentUser } from "./user.ts";

/** Far below a process's limit of open files. */
const MAX_OPEN_FILES = 100;

/**
 * Whether each machine's secrets can be read now, as the worker reads them, and not by every user. Commands are checked but
 * not run, because a vault may issue a new secret each time.
 */
export async function checkSecrets(examined: Examined, signal: AbortSignal): Promise<readonly Finding[]> {
  const { inventory, secretFiles, secretWarnings } = examined;
  const open = await filesOpenToAll(secretFiles);
  const exposed =
    open.length === 0
      ? []
      : [findingOf("secret-readable-by-all", `every user of this host can read ${joinNames(open)}`)];
  if (!inventory) return [...exposed, skippedFinding("secrets", "the inventory must be valid first")];
  const read = await mapLimited(
    inventory.machines(),
    {
      mostAtATime: MAX_OPEN_FILES,
      work: (machine, own) => readOf(inventory, machine, own),
      failed: ({ name }, thrown) => unreadableOf(name, thrown),
    },
    signal,
  );
  const unreadable = read.flatMap(({ problem }) => (problem === undefined ? [] : [problem]));
  const byCommand = read.filter(({ hasCommand }) => hasCommand).map(({ name }) => name);
  const doubtful = secretWarnings.filter(({ message }) =>
    byCommand.some((name) => message.startsWith(`machine ${name}: `)),
  );
  const odd = read.flatMap(({ name, doubt }) =>
    doubt === undefined ? [] : [findingOf("secret-odd", doubt, { subject: name })],
  );
  const wrong = [
    ...unreadable,
    ...odd,
    ...doubtful.map(({ source, message }) =>
      findingOf("secret-command-doubtful", message, { subject: source }),
    ),
    ...exposed,
  ];
  if (unreadable.length > 0) return wrong;
  const files = count(secretFiles.length, "file");
  const commands =
    byCommand.length === 0
      ? ""
      : `; ${count(byCommand.length, "machine has them", "machines have them")} from a command, which only --bmc runs`;
  if (secretFiles.length === 0 && read.length === 0) return [okFinding("secrets", "none are named")];
  return [...wrong, okFinding("secrets", `all can be read, ${files} with one each${commands}`)];
}

interface Read {
  readonly name: string;
  readonly hasCommand: boolean;
  readonly problem?: Finding;
  /** A warning about an unusual user name or password. */
  readonly doubt?: string | undefined;
}

async function readOf(inventory: Inventory, machine: Machine, signal: AbortSignal): Promise<Read> {
  const { name } = machine;
  const commands = new CommandsNotRun();
  let doubt: string | undefined;
  try {
    doubt = loginDoubt(await inventory.resolveConnection(machine, { commands, whilePaused: true, signal }));
  } catch (thrown) {
    signal.throwIfAborted();
    // Problems after a command cannot be found without running it.
    if (!commands.wereAsked) return unreadableOf(name, thrown);
  }
  return { name, hasCommand: commands.wereAsked, doubt };
}

function unreadableOf(name: string, thrown: unknown): Read {
  const facts = { user: currentUser() };
  const problem = findingOf("secret-unreadable", BmcError.from(thrown).message, { facts });
  return { name, hasCommand: false, problem };
}

class CommandsNotRun extends SecretCommands {
  wereAsked = false;

  override async run(): Promise<string> {
    this.wereAsked = true;
    throw new FileProblem("was not run");
  }
}
