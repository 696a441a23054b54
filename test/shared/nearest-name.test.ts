import { describe, expect, it } from "vitest";
import { nearestName, suggestion } from "../../shared/nearest-name.ts";

describe("nearestName", () => {
  const known = ["grpcServer", "grpcTls", "inventory", "policy"];

  it.each([
    ["a missing letter", "inventry", "inventory"],
    ["an extra letter", "pollicy", "policy"],
    ["a wrong letter", "grpcServar", "grpcServer"],
    ["two letters swapped", "plociy", "policy"],
    ["another way to join words", "grpc-server", "grpcServer"],
    ["other case", "GRPC_TLS", "grpcTls"],
  ])("finds a name despite %s", (_, typed, expected) => {
    expect(nearestName(typed, known)).toBe(expected);
  });

  it("finds nothing when no name is close", () => {
    expect(nearestName("timeout", known)).toBeUndefined();
    expect(nearestName("x", known)).toBeUndefined();
    expect(nearestName("", known)).toBeUndefined();
    expect(nearestName("1", ["17", "3"])).toBeUndefined();
    expect(nearestName("policy".repeat(100), known)).toBeUndefined();
  });

  it("takes the nearest of several close names, the first when they are equally close", () => {
    expect(nearestName("node-12", ["node-1", "node-13", "node-22"])).toBe("node-1");
    expect(nearestName("power-offf", ["power-on", "power-off"])).toBe("power-off");
  });

  it("prefers, of equally close names, the one that begins with what was typed", () => {
    expect(nearestName("power-of", ["power-on", "power-off"])).toBe("power-off");
    expect(nearestName("node-12", ["node-1", "node-122", "node-12a"])).toBe("node-122");
  });

  it("prefers a nearer name to one that begins with what was typed", () => {
    expect(nearestName("bmc-host", ["bmc-host-ab", "bmc-hast"])).toBe("bmc-hast");
  });

  it("suggests in words, or says nothing", () => {
    expect(suggestion("polcy", known)).toBe(", did you mean policy?");
    expect(suggestion("zzzzzz", known)).toBe("");
  });
});
