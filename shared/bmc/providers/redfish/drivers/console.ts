import { BmcError } from "../../../../contract/bmc-error.ts";
import type { Connection } from "../../../../contract/connection.ts";
import { type ConsoleDriver, type ConsoleSink, SessionWatch } from "../../../operations/console-port.ts";
import type { ProviderContext } from "../../../operations/provider.ts";
import type { ManagedSystem } from "../resources/system.ts";

const SSH_PORT = 22;

/** The address of the console, and the command that leads to it on the BMC's command line. */
interface SshConsole {
  readonly port: number;
  readonly entryCommand?: string | undefined;
}

/** The serial console over SSH, described by ComputerSystem 1.13 (`SerialConsole`). */
export class RedfishConsole implements ConsoleDriver {
  readonly #system: ManagedSystem;
  readonly #connection: Connection;
  readonly #context: Pick<ProviderContext, "nameOption">;
  readonly #watch = new SessionWatch();

  constructor(system: ManagedSystem, connection: Connection, context: Pick<ProviderContext, "nameOption">) {
    this.#system = system;
    this.#connection = connection;
    this.#context = context;
  }

  async offered(signal: AbortSignal): Promise<true> {
    await this.#find(signal);
    return true;
  }

  /** Redfish does not report the holder. */
  async holder(signal: AbortSignal): Promise<undefined> {
    await this.#find(signal);
    return undefined;
  }

  plan(): readonly string[] {
    return ["SSH session to the serial console"];
  }

  async takeOver(): Promise<void> {
    throw new BmcError("unsupported", "Redfish cannot end another console session");
  }

  watch(sink: ConsoleSink, until: AbortSignal, signal: AbortSignal): Promise<void> {
    return this.#watch.run((bound) => this.#follow(sink, until, bound), signal);
  }

  /** Ends a watch. Never throws. */
  close(): Promise<void> {
    return this.#watch.close();
  }

  async #follow(sink: ConsoleSink, until: AbortSignal, signal: AbortSignal): Promise<void> {
    const found = await this.#find(signal);
    const { host, username, password, connectTimeoutMs, redfish } = this.#connection;
    if (username === undefined || password === undefined) {
      throw new BmcError("usage", "the serial console over SSH needs user and password");
    }
    // Loaded here, because no other action needs it.
    const { watchSsh } = await loadSsh();
    await watchSsh(
      {
        host,
        username,
        password,
        connectTimeoutMs,
        ...found,
        hostKey: redfish.sshHostKey,
        nameOption: this.#context.nameOption,
      },
      sink,
      until,
      signal,
    );
  }

  async #find(signal: AbortSignal): Promise<SshConsole> {
    await this.#system.refresh(signal);
    const ssh = this.#system.last.value.SerialConsole?.SSH;
    if (!ssh) throw new BmcError("unsupported", "the BMC lists no serial console over SSH");
    if (ssh.ServiceEnabled === false) {
      throw new BmcError("unsupported", "the serial console over SSH is disabled on this BMC");
    }
    const { Port = SSH_PORT, SharedWithManagerCLI, ConsoleEntryCommand } = ssh;
    if (!SharedWithManagerCLI) return { port: Port };
    if (ConsoleEntryCommand === undefined) {
      const reason = "the BMC does not say which command of its command line opens the serial console";
      throw new BmcError("unsupported", reason);
    }
    return { port: Port, entryCommand: ConsoleEntryCommand };
  }
}

/** The library is installed without ssh2, which is larger than the rest. */
async function loadSsh(): Promise<typeof import("./ssh-console.ts")> {
  try {
    return await import("./ssh-console.ts");
  } catch (thrown) {
    if (!(thrown instanceof Error && "code" in thrown && thrown.code === "ERR_MODULE_NOT_FOUND"))
      throw thrown;
    throw new BmcError("unsupported", "a console over SSH needs the package ssh2: npm install ssh2", {
      cause: thrown,
    });
  }
}
