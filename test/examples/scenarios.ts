import { ipmiScenarios } from "./ipmi-scenarios.ts";
import { redfishScenarios } from "./redfish-scenarios.ts";
import type { Scenario } from "./scenario.ts";
import { serviceScenarios } from "./service-scenarios.ts";

/** How each template of the examples is run, by its path. */
export const scenarios: Readonly<Record<string, Scenario>> = {
  ...redfishScenarios,
  ...ipmiScenarios,
  ...serviceScenarios,
};
