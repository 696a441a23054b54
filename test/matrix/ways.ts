/** How an action reaches its machine. `ipmi-behind` has faults in Redfish, with IPMI as the next provider. */
export const WAYS = ["basic", "session", "ipmi-behind", "ipmi", "amt", "rpc", "ironic", "homeassistant"] as const;
export type Way = (typeof WAYS)[number];
