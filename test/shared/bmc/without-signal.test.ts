import { expect, test } from "vitest";
import { Connection, type ConnectionInput } from "../../../shared/bmc/library-connection.ts";
import { operationMethods } from "../../../shared/bmc/operations/table.ts";

test("operations without a signal have one that never aborts", () => {
  const signals: AbortSignal[] = [];
  const methods = operationMethods(async (_driver, signal) => {
    signals.push(signal);
    throw new Error("not sent");
  });
  const readers = Object.entries(methods).filter(([name]) => /^(get|list|describe)/.test(name));

  for (const [, read] of readers) void (read as () => Promise<unknown>)().catch(() => undefined);

  expect(signals.length).toBeGreaterThan(20);
  for (const signal of signals) {
    expect(signal).toBeInstanceOf(AbortSignal);
    expect(signal.aborted).toBe(false);
  }
});

test("the type of a connection requires a host, except with Ironic", () => {
  const ironic: ConnectionInput = { ironic: { node: "node-01", url: "https://ironic.example" } };
  // @ts-expect-error: without a host
  const without: ConnectionInput = { username: "admin" };

  expect(() => Connection.parse(without)).toThrow("host is missing");
  expect(ironic.host).toBeUndefined();
});
