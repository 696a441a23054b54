/** The variable with which a template asks an action to repeat itself. The policy limits it, the action obeys it. */
export const RETRIES = "RETRIES";

/** No policy allows more: with its waits, an action of so many attempts takes at least seven minutes. */
export const MOST_RETRIES = 10;
