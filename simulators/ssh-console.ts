import { createHash, generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import ssh2, { type Connection, type ServerChannel } from "ssh2";
import type { SimulatedMachine } from "./machine.ts";

export interface SshConsoleOptions {
  readonly machine: SimulatedMachine;
  readonly username?: string;
  readonly password: string;
  /** The command that leads to the console from the BMC's command line. Without it, SSH leads there at once. */
  readonly entryCommand?: string;
  /** The method that asks for a password. */
  readonly method?: "password" | "keyboard-interactive";
  /** Whether opening a console is refused, as while another is open. */
  readonly busy?: boolean;
  /** Whether a request to open a console is never answered. */
  readonly silent?: boolean;
}

const HISTORY_BYTES = 4_096;

/** Starts a machine's serial console over SSH, which the BMC then lists in Redfish. */
export async function startSshConsole(options: SshConsoleOptions) {
  const { machine, username = "admin", password, entryCommand, method = "password" } = options;
  const { busy = false, silent = false } = options;
  // Not a key made by ssh2, which cannot read one in a hundred of its own keys.
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const hostKey = privateKey.export({ type: "sec1", format: "pem" });
  const parsed = ssh2.utils.parseKey(hostKey);
  if (parsed instanceof Error) throw parsed;
  const clients = new Set<Connection>();
  const channels = new Set<ServerChannel>();
  const told = { passwords: 0, commands: [] as string[], written: "" };
  let history = Buffer.alloc(0);
  machine.on("output", (output) => {
    history = Buffer.concat([history, output]).subarray(-HISTORY_BYTES);
    for (const channel of channels) channel.write(output);
  });

  const lead = (channel: ServerChannel) => {
    channels.add(channel);
    channel.write(history);
    channel.on("data", (bytes: Buffer) => {
      told.written += bytes.toString();
    });
  };
  const commandLine = (channel: ServerChannel) => {
    let line = "";
    channel.write("racadm>> ");
    const onData = (bytes: Buffer) => {
      line += bytes.toString();
      if (!line.endsWith("\r")) return;
      told.commands.push(line.trim());
      if (line.trim() === entryCommand) {
        channel.off("data", onData);
        lead(channel);
      }
      line = "";
    };
    channel.on("data", onData);
  };

  const server = new ssh2.Server({ hostKeys: [hostKey] }, (client) => {
    clients.add(client);
    client.on("error", () => undefined);
    client.on("close", () => clients.delete(client));
    client.on("authentication", (context) => {
      if (context.username === username && context.method === "password" && method === "password") {
        told.passwords += 1;
        if (context.password === password) return context.accept();
      }
      if (context.method === "keyboard-interactive" && method === "keyboard-interactive") {
        context.prompt([{ prompt: "Password: ", echo: false }], (answers) => {
          told.passwords += 1;
          if (context.username === username && answers[0] === password) context.accept();
          else context.reject([method]);
        });
        return;
      }
      context.reject([method]);
    });
    client.on("session", (accept) => {
      const session = accept();
      session.on("pty", (acceptPty) => acceptPty?.());
      session.on("shell", (acceptShell, rejectShell) => {
        if (silent) return;
        if (busy) return rejectShell?.();
        const channel = acceptShell();
        channel.on("close", () => channels.delete(channel));
        channel.on("error", () => undefined);
        if (entryCommand === undefined) lead(channel);
        else commandLine(channel);
      });
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  machine.sshConsole = { port, entryCommand };
  return {
    port,
    fingerprint: `SHA256:${createHash("sha256").update(parsed.getPublicSSH()).digest("base64").replace("=", "")}`,
    told,
    /** Returns the number of open consoles. */
    open: () => channels.size,
    clients: () => clients.size,
    /** Closes all connections. */
    drop(): void {
      for (const client of clients) client.end();
    },
    async [Symbol.asyncDispose]() {
      for (const client of clients) client.end();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}
