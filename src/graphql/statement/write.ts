import type { Table } from '../../database/table.ts';
import type { Window } from '../../database/window.ts';
import { concatenate, orNull, type Part, writeColumn } from './json-sql.ts';
import type {
  Column,
  Constant,
  EdgePart,
  Members,
  Page,
  PageInfoPart,
  Related,
  Row,
  RowValue,
  Selection,
} from './selection.ts';

/** The arguments of a field as SQL, with the names of their parameters. */
export interface SlotSql {
  /** The page of a list; undefined for a row, whose id is the only filter. */
  readonly window: Window | undefined;
  readonly filters: readonly string[];
  readonly conditions: readonly string[];
}

/** A statement that is being written. */
interface Writing {
  readonly selection: Selection;
  readonly slots: readonly SlotSql[];
  /** How many aliases are in use. */
  aliases: number;
}

/** A row whose columns are read, and the joins of its FROM. */
interface Scope {
  readonly table: Table<never>;
  readonly alias: string;
  readonly joins: string[];
}

const openScope = (writing: Writing, table: Table<never>): Scope => {
  writing.aliases += 1;
  return { table, alias: `t${writing.aliases}`, joins: [] };
};

function writeObject<Value extends { readonly kind: string }>(
  members: Members<Value>,
  write: (value: Value) => Part[],
): Part[] {
  const isConstant = (value: Value | Constant): value is Constant => value.kind === 'constant';
  const parts = members.flatMap(([key, value], index): Part[] => [
    `${index === 0 ? '{' : ','}"${key}":`,
    ...(isConstant(value) ? [value.json] : write(value)),
  ]);
  return members.length === 0 ? ['{}'] : [...parts, '}'];
}

const writeColumnOf = ({ alias }: Scope, { type, name, isNullable }: Column): Part[] =>
  writeColumn(type, `${alias}.${name}`, isNullable);

const writeRow = (writing: Writing, scope: Scope, members: Members<RowValue>): Part[] =>
  writeObject(members, (value) => {
    if (value.kind === 'column') return writeColumnOf(scope, value);
    if (value.kind === 'nodeId') {
      return [`"${value.typeName}_`, { sql: `${scope.alias}.${scope.table.id.column}` }, '"'];
    }
    const sql =
      value.kind === 'related'
        ? writeRelated(writing, scope, value)
        : writePage(writing, value, scope);
    return [{ sql }];
  });

/** Joins a related row and returns its JSON. A lateral join takes half of the time of a subquery. */
function writeRelated(writing: Writing, scope: Scope, related: Related): string {
  const { table, by, value, isNullable } = related;
  const inner = openScope(writing, table);
  const { alias, joins } = inner;
  const json = 'kind' in value ? writeColumnOf(inner, value) : writeRow(writing, inner, value);
  const from = `${table.name} ${alias}${joins.join('')}`;
  const match = `${alias}.${table.id.column} = ${scope.alias}.${by}`;
  scope.joins.push(
    ` left join lateral (select ${concatenate(json)} as json from ${from} where ${match}) j${alias} on true`,
  );
  return orNull([{ sql: `j${alias}.json` }], isNullable);
}

const whereAll = (conditions: readonly string[]): string =>
  conditions.length > 0 ? ` where ${conditions.join(' and ')}` : '';

/** Returns the rows of a page; if they are numbered, with the row after them, for `pageInfo`. */
function writeRows(
  { name }: Table<never>,
  { size, readingOrder: { sql: order } }: Window,
  conditions: readonly string[],
  isNumbered: boolean,
): string {
  const rows = (limit: number): string =>
    `(select * from ${name}${whereAll(conditions)} order by ${order} limit ${limit})`;
  if (!isNumbered) return rows(size);
  return `(select *, row_number() over (order by ${order}) as number, count(*) over () as total from ${rows(size + 1)} as page)`;
}

const writeCursor = ({ cursor }: Window): Part[] => [
  '"',
  { sql: orNull([{ sql: cursor }], false) },
  '"',
];

function writePageInfo(members: Members<PageInfoPart>, window: Window): Part[] {
  const { size, backwards, hasAfter, hasBefore } = window;
  // Always with an aggregate, so that the page is one row. Rows are read from one end only.
  const hasMore = (isRead: boolean, isExcluded: boolean): string =>
    `(${isExcluded} or (${isRead} and count(*) > ${size}))::text`;
  const cursorOf = (number: string): string =>
    `coalesce(max(${concatenate(writeCursor(window))}) filter (where number = ${number} and number <= ${size}), 'null')`;
  const last = `least(total, ${size})`;
  const written: Record<PageInfoPart['kind'], string> = {
    hasNextPage: hasMore(!backwards, hasBefore),
    hasPreviousPage: hasMore(backwards, hasAfter),
    startCursor: cursorOf(backwards ? last : '1'),
    endCursor: cursorOf(backwards ? '1' : last),
  };
  return writeObject(members, ({ kind }) => [{ sql: written[kind] }]);
}

function slotOf({ slots }: Writing, index: number): SlotSql {
  const slot = slots[index];
  if (!slot) throw new Error('A field has no arguments.');
  return slot;
}

/** Writes a page; in a parent row it has only the rows that belong to it. */
function writePage(writing: Writing, page: Page, parent?: Scope): string {
  const { source, members } = page;
  const { window, filters, conditions } = slotOf(writing, page.slot);
  if (!window) throw new Error('A list has no window.');
  const ofParent =
    parent && source.parent ? [`${source.parent} = ${parent.alias}.${parent.table.id.column}`] : [];
  const scope = openScope(writing, source.table);
  const isNumbered = members.some(([, { kind }]) => kind === 'pageInfo');
  const shown = isNumbered ? ` filter (where number <= ${window.size})` : '';
  const writeList = (json: Part[]): Part[] => [
    '[',
    {
      sql: `coalesce(string_agg(${concatenate(json)}, ',' order by ${window.order.sql})${shown}, '')`,
    },
    ']',
  ];
  const writeEdge = (part: EdgePart): Part[] =>
    part.kind === 'cursor' ? writeCursor(window) : writeRow(writing, scope, part.members);
  const json = writeObject(members, (part) => {
    if (part.kind === 'nodes') return writeList(writeRow(writing, scope, part.members));
    if (part.kind === 'edges') return writeList(writeObject(part.members, writeEdge));
    if (part.kind === 'pageInfo') return writePageInfo(part.members, window);
    const counted = whereAll([...ofParent, ...filters]);
    return [{ sql: `(select count(*) from ${source.table.name}${counted})` }];
  });
  const sql = concatenate(json);
  if (!writing.selection.slots[page.slot]?.reads) return `(${sql})`;
  const rows = writeRows(source.table, window, [...ofParent, ...conditions], isNumbered);
  return `(select ${sql} from ${rows} ${scope.alias}${scope.joins.join('')})`;
}

function writeRootRow(writing: Writing, { table, slot, members }: Row): string {
  const scope = openScope(writing, table);
  const { alias, joins } = scope;
  const json = writeRow(writing, scope, members);
  const match = `${alias}.${table.id.column} = ${slotOf(writing, slot).filters.join('')}`;
  const from = `${table.name} ${alias}${joins.join('')}`;
  return orNull([{ sql: `(select ${concatenate(json)} from ${from} where ${match})` }], true);
}

/** Returns SQL that writes the data of a query as JSON; `slots` has the arguments of its fields. */
export function writeData(selection: Selection, slots: readonly SlotSql[]): string {
  const writing: Writing = { selection, slots, aliases: 0 };
  const data = writeObject(selection.members, (value) => [
    { sql: value.kind === 'row' ? writeRootRow(writing, value) : writePage(writing, value) },
  ]);
  return concatenate(data);
}
