import { DATE } from '../kinds/times.ts';
import type { Field } from '../model/stored-table.ts';
import type { Relation } from './condition.ts';
import type { GroupKey } from './groups.ts';

/** Groups rows by an enum, a boolean, or a foreign key, for which the name of the key ends with `Id`. */
export function value(field: Field<string | bigint | boolean>): GroupKey {
  const { column, name, kind, type, isReference } = field;
  if (kind.values || type === 'Boolean' || isReference)
    return { field, kind, about: `\`${name}\``, toSql: (own) => own };
  throw new Error(`groupBy.value needs an enum, a boolean or a foreign key, unlike ${column}.`);
}

/** Groups rows by such a column of a related row, which every row has. */
export function related(relation: Relation, field: Field<string | bigint | boolean>): GroupKey {
  const key = value(field);
  return { ...key, relation, about: `${key.about} of the ${relation.table.words.singular}` };
}

function byTime(field: Field<Date>, what: string, toDay: GroupKey['toSql']): GroupKey {
  const toUtc = (own: string) => (field.kind === DATE ? own : `(${own} at time zone 'UTC')`);
  const about = `${what} of \`${field.name}\`, in UTC`;
  return { field, kind: DATE, about, toSql: (own) => toDay(toUtc(own)) };
}

/** Groups rows by day, in UTC. */
export const day = (field: Field<Date>): GroupKey =>
  byTime(field, 'the day', (time) => `${time}::date`);

/** Groups rows by month, in UTC. */
export const month = (field: Field<Date>): GroupKey =>
  byTime(field, 'the first day of the month', (time) => `date_trunc('month', ${time})::date`);
