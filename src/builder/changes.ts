import {
  type Change as RecordedChange,
  type ChangedType,
  changePages,
  cursorOf,
  requireKept,
} from '../changes/record.ts';
import type { RowFilter } from '../changes/row-filter.ts';
import type { CallContext } from '../context.ts';
import { builder, SEARCH_COST } from './builder.ts';
import { rootPage } from './connections.ts';

const ChangeKind = builder.enumType('ChangeKind', {
  description: 'What happened to a row.',
  values: {
    CREATED: { value: 'created', description: 'The row was created.' },
    UPDATED: { value: 'updated', description: 'A value of the row was changed.' },
    DELETED: { value: 'deleted', description: 'The row was deleted.' },
  } as const,
});

const ChangedTypeEnum = builder.enumType('ChangedType', {
  description: 'A type whose rows have changes.',
  values: {
    CATEGORY: { value: 'Category', description: 'Changes of categories.' },
    PET: { value: 'Pet', description: 'Changes of pets.' },
    INVENTORY_ITEM: { value: 'InventoryItem', description: 'Changes of the stock.' },
    ORDER: { value: 'Order', description: 'Changes of orders.' },
  } as const satisfies Record<string, { value: ChangedType; description: string }>,
});

/** A change of a row of any type. */
export const Change = builder.interfaceRef<RecordedChange>('Change').implement({
  description:
    'A change of a row: by a mutation, or by SQL of an operator. A mutation may make several, such as ' +
    'an order and the stock that it takes.',
  resolveType: ({ type }) => `${type}Change`,
  fields: (t) => ({
    cursor: t.string({
      description: 'The place of the change in the record of all changes, for `after`.',
      extensions: { directives: { cost: { weight: '0.1' } } },
      resolve: cursorOf,
    }),
    kind: t.expose('kind', { type: ChangeKind, description: 'What happened to the row.' }),
    changedAt: t.expose('changedAt', {
      type: 'DateTime',
      description:
        'The time of the change. Changes are in the order of their transactions, not of their times.',
    }),
  }),
});

const ChangeFilter = builder.inputType('ChangeFilter', {
  description: 'Conditions for a list of changes.',
  fields: (t) => ({
    types: t.field({
      type: [ChangedTypeEnum],
      description: 'Only changes of rows of these types. An empty list matches no change.',
      extensions: SEARCH_COST,
    }),
  }),
});

const ChangeConnection = builder.connectionObject(
  { type: Change, name: 'ChangeConnection' },
  { name: 'ChangeEdge' },
);

const page = rootPage(changePages);

builder.queryField('changes', (t) =>
  t.connection(
    {
      type: Change,
      description:
        'A page of the record of all changes, in the order in which their transactions began to write. It ' +
        'begins with the oldest change that is kept: those of a day, unless the operator set another time. ' +
        'A change appears when no transaction is open that could still make one before it. To follow the ' +
        'record, repeat the query with `after: endCursor`.',
      args: {
        filter: t.arg({
          type: ChangeFilter,
          description: 'Conditions for the changes; all by default.',
        }),
      },
      extensions: {
        // An operation with changes is not compiled to one statement, so all of it takes longer.
        directives: { ...page.extensions.directives, cost: { weight: '150' } },
        checkArguments: page.extensions.checkArguments,
      },
      resolve: async (root, args, context) => {
        const { db } = context.store;
        if (args.after != null) await requireKept(db, args.after, 'after');
        if (args.before != null) await requireKept(db, args.before, 'before');
        // A filter, also an empty one, leaves out the changes that only a later release knows.
        return page.resolve(root, { ...args, filter: args.filter ?? {} }, context);
      },
    },
    ChangeConnection,
  ),
);

/** The options of every argument `after` of a subscription. It costs as much as a page of old changes. */
export const AFTER = {
  description:
    'Begins after this cursor, with the changes since then; otherwise with the next change.',
  extensions: { directives: { cost: { weight: '200' } } },
};

/** The arguments of a subscription. */
interface ChangesArguments<Filter> {
  readonly after?: string | null | undefined;
  readonly filter?: Filter | null | undefined;
}

/** Subscribes a field to the changes of a type. `toFilter` converts the argument `filter`. */
export function changesOf<Filter>(type: ChangedType, toFilter: (filter: Filter) => RowFilter) {
  return {
    subscribe: (
      _root: object,
      { after, filter }: ChangesArguments<Filter>,
      { changes, stream }: CallContext,
    ): Promise<AsyncIterable<RecordedChange>> => {
      if (!stream) throw new Error('A subscription needs a stream.');
      const { callerKey, signal } = stream;
      const rows = filter == null ? undefined : toFilter(filter);
      return changes.subscribe({ type, filter: rows, after, callerKey, signal });
    },
    resolve: (change: RecordedChange) => change,
  };
}
