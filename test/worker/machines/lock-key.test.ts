import { describe, expect, it } from "vitest";
import { mayBeSameBmc } from "../../../worker/machines/lock-key.ts";

describe("mayBeSameBmc", () => {
  it.each([
    ["10.0.0.1", "10.0.0.1 redfish:8443", true],
    ["10.0.0.1 redfish:8001", "10.0.0.1 redfish:8002", false],
    ["10.0.0.1", "10.0.0.2", false],
  ])("%s and %s: %s", (one, other, same) => {
    expect(mayBeSameBmc(one, other)).toBe(same);
    expect(mayBeSameBmc(other, one)).toBe(same);
  });
});
