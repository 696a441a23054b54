import { describe, expect, test } from "vitest";
import { IPMI_BUDGETS, REDFISH_BUDGETS } from "../../bench/wire/budgets.ts";
import { countIpmi } from "../../bench/wire/ipmi.ts";
import { OPERATIONS } from "../../bench/wire/operations.ts";
import { countRedfish, countRedfishClient } from "../../bench/wire/redfish.ts";
import { IPMI_WAYS, REDFISH_WAYS } from "../../bench/wire/tables.ts";

describe.each(OPERATIONS)("%s", (operation) => {
  test.each(REDFISH_WAYS)(
    "stays within its budget of Redfish requests on one connection: %s",
    async (way) => {
      const counted = await countRedfish(operation, way);

      expect(counted.requests).toBeGreaterThan(0);
      expect(counted.requests).toBeLessThanOrEqual(REDFISH_BUDGETS[operation].requests[way]);
      expect(counted.connections).toBe(1);
      expect(counted.told).toBe(counted.requests);
    },
  );

  test.each(REDFISH_WAYS)("takes one connection with all a client adds: %s", async (way) => {
    const counted = await countRedfishClient(operation, way);

    expect(counted.connections).toBe(1);
    expect(counted.told).toBe(counted.requests);
  });

  test.each(IPMI_WAYS)("stays within its budget of IPMI round trips: %s", async (way) => {
    const counted = await countIpmi(operation, way);

    expect(counted.roundTrips).toBeGreaterThan(0);
    expect(counted.roundTrips).toBeLessThanOrEqual(IPMI_BUDGETS[operation].roundTrips[way]);
    expect(counted.told).toBe(counted.roundTrips);
    // Nothing is sent twice, and nothing goes unanswered before the result is there.
    expect(counted.packetsUp).toBe(counted.packetsDown);
  });
});
