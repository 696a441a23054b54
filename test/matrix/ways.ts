/**
 * How an action reaches its machine. `ipmi-behind` has faults in Redfish, with IPMI as the next provider; `moved` has two of everything,
 * which change their places between two requests.
 */
export const WAYS = [
  ...(["basic", "session", "ipmi-behind", "moved"] as const),
  ...(["ipmi", "amt", "rpc", "ironic", "homeassistant"] as const),
] as const;
export type Way = (typeof WAYS)[number];
