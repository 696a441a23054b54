/** The agent IDs of actions that no tink server serves, for policies and logs. */
export const RUFIO_AGENT_ID = "rufio";
export const PBNJ_AGENT_ID = "pbnj";
export const DRIFT_AGENT_ID = "drift";

/** Agent IDs of sources inside the worker, whose answers say nothing about a server. */
export const INSIDE_AGENT_IDS: ReadonlySet<string> = new Set([PBNJ_AGENT_ID, DRIFT_AGENT_ID]);
