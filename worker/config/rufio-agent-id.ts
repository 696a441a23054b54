/** The agent ID of Rufio's lane and its actions, for policies and logs. */
export const RUFIO_AGENT_ID = "rufio";
