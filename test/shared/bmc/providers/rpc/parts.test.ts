import { createHmac } from "node:crypto";
import { describe, expect, test } from "vitest";
import { requestBody } from "../../../../../shared/bmc/providers/rpc/request-body.ts";
import { signatureHeaders } from "../../../../../shared/bmc/providers/rpc/signature.ts";
import { formatTimestamp } from "../../../../../shared/bmc/providers/rpc/timestamp.ts";
import { RpcSignature } from "../../../../../shared/contract/connection.ts";

describe("a time stamp", () => {
  const afternoon = Date.UTC(2026, 10, 2, 15, 4, 5, 70);

  test.each([
    ["2006-01-02T15:04:05Z07:00", "2026-11-02T15:04:05Z"],
    ["2006-01-02T15:04:05.999999999Z07:00", "2026-11-02T15:04:05.07Z"],
    ["Mon, 02 Jan 2006 15:04:05 -0700", "Mon, 02 Nov 2026 15:04:05 +0000"],
    ["Monday, 02-Jan-06 15:04:05 MST", "Monday, 02-Nov-26 15:04:05 UTC"],
    ["Mon Jan _2 15:04:05 2006", "Mon Nov  2 15:04:05 2026"],
    ["3:04PM", "3:04PM"],
    ["January 2, 03:4:5pm .000000", "November 2, 03:4:5pm .070000"],
    ["", ""],
    ["at", "at"],
  ])("in the layout %j is %j", (layout, expected) => {
    expect(formatTimestamp(layout, afternoon)).toBe(expected);
  });

  test("drops a fraction of nothing but nines, and midnight is 12 AM", () => {
    expect(formatTimestamp("3:04:05.999PM", Date.UTC(2026, 0, 1))).toBe("12:00:00AM");
  });
});

describe("a request's body", () => {
  const id = 1_700_000_000_000_000_001n;

  test("has the ID to the nanosecond, and params only where there are some", () => {
    const ping = requestBody({ method: "ping" }, id, "node 7", undefined);
    const set = requestBody({ method: "setPowerState", params: { state: "on" } }, id, "h", undefined);

    expect(ping).toBe('{"id":1700000000000000001,"host":"node 7","method":"ping"}');
    expect(set).toBe(
      '{"id":1700000000000000001,"host":"h","method":"setPowerState","params":{"state":"on"}}',
    );
  });

  test("goes into a payload at a path, beside what is there", () => {
    const payload = { a: { b: 1, list: [{}, {}] }, c: "kept" };
    const request = '{"id":1700000000000000001,"host":"h","method":"ping"}';
    const at = (path: string) => requestBody({ method: "ping" }, id, "h", { payload, path });

    expect(at("a.new.deep")).toBe(`{"a":{"b":1,"list":[{},{}],"new":{"deep":${request}}},"c":"kept"}`);
    expect(at("a.list.1.x")).toBe(`{"a":{"b":1,"list":[{},{"x":${request}}]},"c":"kept"}`);
    expect(payload).toEqual({ a: { b: 1, list: [{}, {}] }, c: "kept" });
  });

  test.each(["c.x", "a.list.2", "a.list.x"])("cannot go to %s, which is usage", (path) => {
    const payload = { a: { list: [{}, {}] }, c: "text" };

    expect(() => requestBody({ method: "ping" }, id, "h", { payload, path })).toThrowError(
      expect.objectContaining({ class: "usage" }),
    );
  });
});

describe("signatures", () => {
  const sign = (options: unknown, included: readonly string[], body: string, headers = {}) =>
    signatureHeaders(RpcSignature.parse(options), { signature: "X-Sig", included }, body, headers);
  const hmac = (algorithm: string, secret: string, text: string) =>
    createHmac(algorithm, secret).update(text).digest("hex");

  test("are one for each secret, in a header for each algorithm", () => {
    const secrets = { sha256: ["one", "two"], "512": "three" };

    expect(sign({ secrets }, [], "{}")).toEqual({
      "X-Sig-256": `sha256=${hmac("sha256", "one", "{}")},sha256=${hmac("sha256", "two", "{}")}`,
      "X-Sig-512": `sha512=${hmac("sha512", "three", "{}")}`,
    });
  });

  test("cover the included headers in their order, whatever case their names are in", () => {
    const headers = { "X-A": "1", "x-b": "2" };
    const given = sign({ secrets: { sha256: "s" } }, ["X-B", "x-missing", "x-a"], "{}", headers);

    expect(given["X-Sig-256"]).toBe(`sha256=${hmac("sha256", "s", "{}21")}`);
  });

  test("go without prefix and suffix where these are off", () => {
    const options = {
      secrets: { sha256: "s", sha512: "s" },
      algorithmInHeader: false,
      algorithmInValue: false,
    };

    expect(sign(options, [], "{}")).toEqual({
      "X-Sig": `${hmac("sha256", "s", "{}")},${hmac("sha512", "s", "{}")}`,
    });
  });

  test("are none without a secret", () => {
    expect(sign({}, [], "{}")).toEqual({});
  });
});
