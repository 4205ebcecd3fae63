import { InvalidInput } from '../../gateway/index.ts';

// A caller may know only its local date, or its clock may be wrong.
const TOLERANCE_MS = 86_400_000;

interface Dated {
  readonly shipDate?: Date | null | undefined;
}

/**
 * Rejects ship dates more than a day in the past. `path` leads to the parsed order, or to the orders of a cart. This
 * rule is checked only when the order is written, so that a retry with an idempotency key returns the original result
 * even if the date has passed since.
 * @throws InvalidInput with every rejected date
 */
export function rejectPastDates(dated: Dated | readonly Dated[], ...path: string[]): void {
  const first = Date.now() - TOLERANCE_MS;
  const message = 'must not be more than a day in the past.';
  const issueAt = (...place: string[]) =>
    ({ path: [...path, ...place, 'shipDate'], message, code: 'TOO_SMALL' }) as const;
  const isPast = ({ shipDate }: Dated): boolean => shipDate != null && shipDate.getTime() < first;
  const issues =
    'length' in dated
      ? dated.flatMap((one, line) => (isPast(one) ? { ...issueAt(String(line)), line } : []))
      : [dated].filter(isPast).map(() => issueAt());
  if (issues.length > 0) throw new InvalidInput(issues);
}
