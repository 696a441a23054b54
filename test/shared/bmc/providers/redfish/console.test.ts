import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { SimulatedMachine } from "../../../../../simulators/machine.ts";
import { startRedfishBmc } from "../../../../../simulators/redfish/bmc.ts";
import { type SshConsoleOptions, startSshConsole } from "../../../../../simulators/ssh-console.ts";
import { openSession } from "./open-session.ts";

/**
 * A machine whose BMC lists a console over SSH, at `peer` if there is one, and a session that pins this key; the right one when
 * absent.
 */
async function lab(
  options: Partial<SshConsoleOptions> = {},
  hostKey: (fingerprint: string) => string | undefined = (fingerprint) => fingerprint,
  peer?: { readonly port: number },
) {
  const machine = new SimulatedMachine();
  const bmc = await startRedfishBmc({ machines: [machine], tls: "http" });
  const ssh = await startSshConsole({ machine, username: bmc.username, password: bmc.password, ...options });
  const sshHostKey = hostKey(ssh.fingerprint);
  if (peer) machine.sshConsole = { port: peer.port };
  const session = await openSession(bmc, {
    redfish: sshHostKey === undefined ? {} : { sshHostKey },
    ...(options.silent && { connection: { connectTimeoutMs: 1_000 } }),
  });
  const { console } = session;
  if (!console) throw new Error("the session has no console");
  const done = new AbortController();
  const cancel = new AbortController();
  let text = "";
  let opened = 0;
  const sink = {
    opened: () => {
      opened += 1;
    },
    output: (bytes: Uint8Array) => {
      text += Buffer.from(bytes).toString();
    },
    gap: () => undefined,
  };
  return {
    machine,
    bmc,
    ssh,
    session,
    console,
    cancel,
    text: () => text,
    opened: () => opened,
    watch: () => {
      const watching = console.watch(sink, done.signal, cancel.signal);
      watching.catch(() => undefined);
      return watching;
    },
    end: () => done.abort(),
    async [Symbol.asyncDispose]() {
      await session.close();
      await ssh[Symbol.asyncDispose]();
      await bmc.close();
    },
  };
}

/** A peer that does with each connection what `take` says, and does not end it by itself. */
async function rawPeer(take: (socket: Socket) => void) {
  const sockets = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
    socket.on("close", () => sockets.delete(socket));
    take(socket);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

const POLL = { interval: 10, timeout: 20_000 };

describe.concurrent("the console of the redfish provider", () => {
  it.for(["password", "keyboard-interactive"] as const)(
    "hands on what comes over SSH with the pinned key, after one %s, and writes nothing",
    async (method, { expect }) => {
      await using there = await lab({ method });
      expect(await there.console.offered(there.cancel.signal)).toBe(true);

      const watching = there.watch();
      await expect.poll(there.opened, POLL).toBe(1);
      there.machine.print("iPXE initialising devices...\r\n");
      await expect.poll(there.text, POLL).toBe("iPXE initialising devices...\r\n");
      there.end();
      await watching;

      expect(there.ssh.told).toEqual({ passwords: 1, commands: [], written: "" });
      await expect.poll(there.ssh.clients, POLL).toBe(0);
    },
  );

  it("goes through the BMC's command line where that is shared", async ({ expect }) => {
    await using there = await lab({ entryCommand: "console com2" });
    there.watch();
    await expect.poll(there.ssh.open, POLL).toBe(1);
    there.machine.print("iPXE");

    await expect.poll(there.text, POLL).toContain("iPXE");
    expect(there.ssh.told).toMatchObject({ commands: ["console com2"], written: "" });
  });

  it("refuses a key that is not pinned, with its fingerprint and how to pin it, before the password", async () => {
    await using there = await lab({}, () => undefined);

    await expect(there.watch()).rejects.toMatchObject({
      class: "unsupported",
      message: expect.stringContaining(`accept it with redfish: {sshHostKey: "${there.ssh.fingerprint}"}`),
    });
    expect(there.ssh.told.passwords).toBe(0);
  });

  it("refuses another key than the pinned one, as TLS does", async () => {
    const other = `SHA256:${"A".repeat(43)}`;
    await using there = await lab({}, () => other);

    await expect(there.watch()).rejects.toMatchObject({
      class: "tls",
      message: expect.stringContaining(`is ${there.ssh.fingerprint}, not the pinned ${other}`),
    });
    expect(there.ssh.told.passwords).toBe(0);
  });

  it("sends a refused password once", async () => {
    await using there = await lab({ password: "another" });

    await expect(there.watch()).rejects.toMatchObject({ class: "auth", refused: "right" });
    expect(there.ssh.told.passwords).toBe(1);
  });

  it("is busy where the BMC opens no console", async () => {
    await using there = await lab({ busy: true });

    await expect(there.watch()).rejects.toMatchObject({ class: "busy" });
  });

  it("is lost where the BMC does not answer that it opens", async () => {
    await using there = await lab({ silent: true });

    await expect(there.watch()).rejects.toMatchObject({
      class: "timeout",
      message: expect.stringContaining("does not answer the request to open a console"),
    });
  });

  it.for([
    ["lines without end before its name", "", "hello\r\n".repeat(10_000), "protocol"],
    ["a line without end", "", "A".repeat(65_536), "protocol"],
    ["bytes without end after its name", "SSH-2.0-x\r\n", "A".repeat(65_536), "protocol"],
    ["the first version of SSH", "SSH-1.5-x\r\n", "", "protocol"],
  ] as const)(
    "fails where the BMC sends %s, without waiting for its end",
    async ([_, first, rest, errorClass], { expect }) => {
      await using peer = await rawPeer((socket) => {
        const flood = () => {
          while (!socket.destroyed && socket.write(rest));
        };
        socket.write(first);
        if (rest !== "") socket.on("drain", flood);
        if (rest !== "") flood();
      });
      await using there = await lab({}, undefined, peer);

      await expect(there.watch()).rejects.toMatchObject({ class: errorClass });
    },
  );

  it("is closed although the BMC never closes its side", async ({ expect }) => {
    await using peer = await rawPeer((socket) => {
      const ssh = connect({ port: there.ssh.port, host: "127.0.0.1", allowHalfOpen: true });
      ssh.on("error", () => undefined);
      socket.on("data", (bytes) => ssh.write(bytes));
      ssh.on("data", (bytes) => socket.write(bytes));
      socket.on("close", () => ssh.destroy());
    });
    await using there = await lab({}, undefined, peer);
    const watching = there.watch();
    await expect.poll(there.opened, POLL).toBe(1);

    there.cancel.abort(new Error("enough"));

    await expect(watching).rejects.toThrow("enough");
    await peer[Symbol.asyncDispose]();
  });

  it("is lost when the connection ends", async ({ expect }) => {
    await using there = await lab();
    const watching = there.watch();
    await expect.poll(there.opened, POLL).toBe(1);

    there.ssh.drop();

    await expect(watching).rejects.toMatchObject({ class: "timeout" });
  });

  it.for(["cancelled", "closed"])("is closed when it is %s", async (way, { expect }) => {
    await using there = await lab();
    const watching = there.watch();
    await expect.poll(there.opened, POLL).toBe(1);

    if (way === "cancelled") there.cancel.abort(new Error("enough"));
    else await there.session.close();

    await expect(watching).rejects.toThrow(way === "cancelled" ? "enough" : "closed");
    await expect.poll(there.ssh.clients, POLL).toBe(0);
  });

  it.for([
    ["lists none", undefined, "lists no serial console"],
    ["does not answer", { port: 1 }, "connection refused"],
  ] as const)("fails at once if the BMC %s", async ([_, sshConsole, reason], { expect }) => {
    await using there = await lab();
    there.machine.sshConsole = sshConsole;
    const session = await openSession(there.bmc, { redfish: { sshHostKey: there.ssh.fingerprint } });
    const sink = { opened: () => undefined, output: () => undefined, gap: () => undefined };
    const { signal } = there.cancel;

    await expect(session.console?.watch(sink, signal, signal)).rejects.toMatchObject({
      class: sshConsole ? "unreachable" : "unsupported",
      message: expect.stringContaining(sshConsole ? "ECONNREFUSED" : reason),
    });
    await session.close();
  });
});
