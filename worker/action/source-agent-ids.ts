/** The agent IDs of actions that no tink server serves, for policies and logs. */
export const RUFIO_AGENT_ID = "rufio";
export const PBNJ_AGENT_ID = "pbnj";
