import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterEach, expect, test } from "vitest";
import { BmcClient } from "../../../shared/bmc/client.ts";
import { Connection } from "../../../shared/contract/connection.ts";

let child: ChildProcess | undefined;
afterEach(async () => {
  if (!child || child.exitCode !== null) return;
  const ended = once(child, "exit");
  child.kill("SIGKILL");
  await ended;
});

/** Starts a simulator as people do and gives the URL that it prints. */
async function simulate(...args: string[]): Promise<URL> {
  const started = spawn(
    process.execPath,
    [join(import.meta.dirname, "../../../simulators/main.ts"), ...args],
    {
      stdio: ["ignore", "pipe", "inherit"],
    },
  );
  child = started;
  const [line] = await once(createInterface(started.stdout), "line");
  return new URL(JSON.parse(line).url);
}

test.each([
  [
    "amt",
    ["amt", "--power", "off"],
    (url: URL) => ({
      host: url.hostname,
      username: "admin",
      password: "P@ssw0rd",
      providers: ["amt"],
      amt: { port: Number(url.port) },
    }),
    "off",
  ],
  ["rpc", ["rpc"], (url: URL) => ({ host: "any", rpc: { url: url.href } }), "on"],
  [
    "homeassistant",
    ["homeassistant", "--power", "off", "--entity", "switch.a"],
    (url: URL) => ({
      host: "any",
      password: "token-calvin",
      homeassistant: { url: url.href, entity: "switch.a" },
    }),
    "off",
  ],
  [
    "ironic",
    ["ironic", "--power", "off", "--node", "metal-1"],
    (url: URL) => ({ ironic: { url: url.href, node: "metal-1" } }),
    "off",
  ],
] as const)("%s runs from the command line until it is interrupted", async (_, args, connection, power) => {
  const url = await simulate(...args);
  const client = new BmcClient(Connection.parse(connection(url)));

  const read = await client.getPower(new AbortController().signal);
  await client.close();
  const ended = child && once(child, "exit");
  child?.kill("SIGINT");

  expect(read).toBe(power);
  expect(await ended).toEqual([0, null]);
});
