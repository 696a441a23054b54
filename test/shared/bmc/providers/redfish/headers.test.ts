import { describe, expect, test } from "vitest";
import { parseRetryAfterMs } from "../../../../../shared/bmc/http/status-error.ts";
import { otherStrength, readEtag } from "../../../../../shared/bmc/providers/redfish/service/etag.ts";
import { localPath } from "../../../../../shared/bmc/providers/redfish/service/http-client.ts";

describe("an entity tag", () => {
  test.each([
    ['"abc"', '"abc"'],
    ['W/"abc"', 'W/"abc"'],
    ['""abc""', '"abc"'],
    ['W/""abc""', 'W/"abc"'],
    ['"\\"abc\\""', '"abc"'],
    ["abc", '"abc"'],
    ["W/abc", 'W/"abc"'],
    ['"abc-gzip"', '"abc"'],
    ['W/"abc;gzip"', 'W/"abc"'],
  ])("%s is sent back as %s", (sent, expected) => {
    expect(readEtag(sent, undefined)).toBe(expected);
  });

  test("in the header comes before the property, and an empty one is none", () => {
    expect(readEtag('"a"', '"b"')).toBe('"a"');
    expect(readEtag(undefined, '"b"')).toBe('"b"');
    expect(readEtag(" ", undefined)).toBeUndefined();
  });

  test("has another strength", () => {
    expect(otherStrength('"a"')).toBe('W/"a"');
    expect(otherStrength('W/"a"')).toBe('"a"');
  });
});

describe("Retry-After", () => {
  const now = Date.parse("2025-06-01T12:00:00Z");

  test.each([
    ["5", 5_000],
    ["0", 0],
    ["0.5", 500],
    ["Sun, 01 Jun 2025 12:00:30 GMT", 30_000],
    ["Sun, 01 Jun 2025 11:00:00 GMT", 0],
    ["Sat, 01 Jan 2050 00:00:00 GMT", 600_000],
    ["99999", 600_000],
    ["soon", undefined],
    ["", undefined],
    [undefined, undefined],
  ])("of %s is %s ms", (header, expected) => {
    expect(parseRetryAfterMs(header, now)).toBe(expected);
  });
});

describe("a link", () => {
  const origin = "https://192.0.2.1:8443";

  test.each([
    ["/redfish/v1/Systems/1", "/redfish/v1/Systems/1"],
    ["https://192.0.2.1:8443/redfish/v1/Systems/1", "/redfish/v1/Systems/1"],
    ["https://192.0.2.2:8443/redfish/v1/Systems/1", undefined],
    ["https://192.0.2.1/redfish/v1/Systems/1", undefined],
    ["http://192.0.2.1:8443/redfish/v1/Systems/1", undefined],
    ["//192.0.2.2/redfish/v1", undefined],
    ["", undefined],
    [undefined, undefined],
  ])("%s leads to %s", (link, expected) => {
    expect(localPath(link, origin)).toBe(expected);
  });
});
