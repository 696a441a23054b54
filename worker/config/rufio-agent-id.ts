/** What actions of Rufio's Jobs bear in place of an agent ID. */
export const RUFIO_AGENT_ID = "rufio";
