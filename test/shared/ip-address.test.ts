import { expect, test } from "vitest";
import { zoneProblem } from "../../shared/ip-address.ts";

test.each(["fe80::1%nope0", "::1%nope0", "2001:db8::1%1", "fe80::1%constructor"])(
  "%s names no interface",
  (host) => {
    expect(zoneProblem(host)?.message).toBe(
      `this host has no interface named ${host.slice(host.indexOf("%") + 1)} that is up`,
    );
  },
);

test.each(["fe80::1%lo", "fe80::1", "bmc.example", "100%", "10.0.0.1"])("%s has no wrong zone", (host) => {
  expect(zoneProblem(host)).toBeUndefined();
});
