/** Formats the date as YYYY-MM-DD, in UTC. */
export const toDay = (date: Date): string => date.toISOString().slice(0, 10);
