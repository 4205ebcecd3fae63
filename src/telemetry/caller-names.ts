/** The label of all callers without a token, where tokens are used. */
export const ANONYMOUS = 'anonymous';
const OTHER = 'other';
const RESERVED = new Set([ANONYMOUS, OTHER, 'unknown', 'unnamed']);

/** Returns a name as the value of a label; a name with `isKept` is never given up. */
export type LabelOf = (name: string, isKept?: boolean) => string;

/**
 * Creates a table of at most `max` names that callers choose: it bounds the memory and the size of /metrics.
 * If it is full, a new name takes the place of the one that was used longest ago, whose series `giveUp` must
 * remove: they are never counted as those of another name. If all names are kept, new ones are `other`.
 */
export function createCallerNames(max: number, giveUp: (name: string) => void): LabelOf {
  const kept = new Set<string>();
  // The one that was used longest ago is the first.
  const recent = new Set<string>();
  return (name, isKept = false) => {
    if (RESERVED.has(name) || kept.has(name)) return name;
    if (!recent.delete(name) && kept.size + recent.size >= max) {
      const [oldest] = recent;
      if (oldest === undefined) return OTHER;
      recent.delete(oldest);
      giveUp(oldest);
    }
    (isKept ? kept : recent).add(name);
    return name;
  };
}
