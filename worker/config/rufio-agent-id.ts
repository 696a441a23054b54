/** The agent ID of the lane that does Rufio's work: policies name it as they name others, and its actions bear it. */
export const RUFIO_AGENT_ID = "rufio";
