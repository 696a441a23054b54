import { expect, test } from "vitest";
import { hostsNamed } from "../../../worker/listener/loopback.ts";

test.each([
  [["Host", "a"], ["a"]],
  [["Accept", "host"], []],
  [[":authority", "a"], ["a"]],
  [[":authority", "a", "host", "a"], ["a"]],
  [[":authority", "a", "host", "b"], undefined],
  [["Host", "a", "host", "a"], undefined],
  [["Host", "a", "X", "y", "HOST", "b"], undefined],
])("headers %j name the hosts %j", (headers, hosts) => {
  expect(hostsNamed(headers)).toEqual(hosts);
});
