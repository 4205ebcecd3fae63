import { errorOf, type ErrorType } from './contract/gateway-error.ts';
import type { Session } from './database/session.ts';
import { type ColumnCondition, isOfColumn } from './list/condition.ts';
import { createParseFilter, type Filters, requireIndex } from './list/filter.ts';
import { createGroups, type Groups, toObjectName } from './list/groups.ts';
import { createListing, createSorts, type ListSorts, type Sorts } from './list/listing.ts';
import { type ListLoaders, pagesOf } from './list/pages.ts';
import {
  constraintsOf,
  createRules,
  type ErrorAbout,
  type Inputs,
  type CompleteInput,
  type NewRow,
  completeInput,
} from './model/inputs.ts';
import { insertRows } from './model/lines.ts';
import { byId, required, type RowLoader } from './model/loaders.ts';
import type { StoredTable } from './model/stored-table.ts';
import {
  lowerFirst,
  toEnumName,
  toFieldName,
  toWords,
  upperFirst,
  type Words,
} from './model/words.ts';
import { createWrites, type WriteRules, type Writes } from './model/writes.ts';

interface Options<Row, Of extends Inputs<Row>> {
  /** What the rows are called, if not by the names of their type and table. */
  readonly words?: Partial<Words>;
  readonly inputs: Of;
  readonly filters: (fields: StoredTable<Row>['fields']) => Filters;
  /** The first sort is the default. */
  readonly sorts: Sorts<keyof Row & string>;
  /** What callers can group a list by. If omitted, lists have no groups. */
  readonly groups?: (fields: StoredTable<Row>['fields']) => Groups;
  /** The error for an id that does not exist, if it differs from the default. */
  readonly notFound?: ErrorAbout<bigint>;
  /** Additional errors that mutations of these rows return. */
  readonly errors?: readonly ErrorType[];
  /** Reads rows by their ids, including related rows that callers often select too. */
  readonly read?: (db: Session, ids: readonly bigint[]) => Promise<Row[]>;
  /** Inserts rows, including any related rows, and returns them in the same order. */
  readonly insertMany?: (session: Session, rows: readonly NewRow<Row, Of>[]) => Promise<Row[]>;
}

/** The rows of a table, with the functions that read, list, write and follow them. */
export interface Repository<Row extends object = object, New = unknown>
  extends StoredTable<Row>, Writes<Row>, WriteRules<Row, New> {
  readonly words: Words;
  readonly inputs: readonly CompleteInput[];
  readonly filters: Filters;
  readonly sorts: ListSorts;
  readonly groups: Groups | undefined;
  /** All errors that mutations of these rows return. */
  readonly errors: readonly ErrorType[];
  /** Loads a row; null if it does not exist. */
  readonly byId: RowLoader<Row | null>;
  /** Loads a row that must exist. */
  readonly required: RowLoader<Row>;
  readonly pages: ListLoaders<Row>;
  /** Returns the lists of each parent's rows; `field` is the reference to the parent. */
  readonly pagesBy: (field: keyof Row & string) => ListLoaders<Row>;
  /**
   * Returns the conditions of a filter for recorded rows.
   * @throws InvalidId, InvalidInput
   */
  readonly toRecorded: (filter: object) => ColumnCondition[];
}

const createNotFound = (type: string, { singular }: Words): ErrorAbout<bigint> =>
  errorOf(
    `${toEnumName(type)}_NOT_FOUND`,
    404,
    `The ${singular} does not exist.`,
    (id: bigint, line: number | null = null) => ({
      message: `There is no ${singular} ${id}.`,
      line,
    }),
  );

const createInUse = (
  type: string,
  { singular }: Words,
  usedBy: readonly string[],
): ErrorAbout<bigint> => {
  const reason = `has ${usedBy.join(' or ')}, so it cannot be deleted.`;
  return errorOf(`${toEnumName(type)}_IN_USE`, 409, `The ${singular} ${reason}`, (id: bigint) => ({
    message: `${upperFirst(singular)} ${id} ${reason}`,
  }));
};

/** Creates the repository of a table, which serves both GraphQL and REST. */
export function createRepository<Row extends object, const Of extends Inputs<Row>>(
  table: StoredTable<Row>,
  options: Options<Row, Of>,
): Repository<Row, NewRow<Row, Of>> {
  const { read } = options;
  const { type, usedBy } = table;
  const words = toWords(table, options.words ?? {});
  const inputs = Object.entries<Inputs<Row>[string]>(options.inputs).map((entry) =>
    completeInput(table, entry),
  );
  const filters = options.filters(table.fields);
  const notFound = options.notFound ?? createNotFound(type, words);
  const inUse = usedBy.length === 0 ? undefined : createInUse(type, words, usedBy);
  const rules = {
    ...createRules<Row, Of>(inputs),
    constraints: constraintsOf(table, words, inputs),
    notFound,
    inUse,
  };
  const sorts = createSorts(table, options.sorts);
  const groups = createGroups(table, options.groups?.(table.fields));
  const listing = createListing(table, filters, sorts);
  const loader = byId(lowerFirst(type), table, read);
  const parseChanges = createParseFilter(filters, 'changes');
  return {
    ...table,
    words,
    inputs,
    filters,
    sorts,
    groups,
    errors: [
      notFound,
      inUse,
      ...rules.constraints.map(({ error }) => error),
      ...(options.errors ?? []),
    ].filter((error) => error !== undefined),
    byId: loader,
    required: required(loader, (id) => new notFound(id)),
    pages: pagesOf(listing),
    pagesBy: (name) => {
      const field = table.fields[name];
      if (!field.isReference) throw new Error(`${type}.${name} does not refer to other rows.`);
      requireIndex(table, field);
      const batches = `${toFieldName(words.plural)}By${upperFirst(toObjectName(name))}`;
      return pagesOf(listing, batches, field.ownColumn);
    },
    ...rules,
    ...createWrites(table, { ...rules, insert: options.insertMany ?? insertRows(table) }),
    toRecorded: (filter) => parseChanges(filter).filter(isOfColumn),
  };
}
