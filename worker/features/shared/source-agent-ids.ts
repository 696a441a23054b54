/** Agent IDs of actions that do not come from a tink server, for policies and logs. */
export const RUFIO_AGENT_ID = "rufio";
export const PBNJ_AGENT_ID = "pbnj";
export const DRIFT_AGENT_ID = "drift";

/** Agent IDs of sources inside the worker. Their answers do not depend on a server. */
export const INSIDE_AGENT_IDS: ReadonlySet<string> = new Set([PBNJ_AGENT_ID, DRIFT_AGENT_ID]);
