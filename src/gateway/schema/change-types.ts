import type { OutputRef } from '@pothos/core';

import {
  type Change as RecordedChange,
  changePagesOf,
  cursorOf,
  knownOf,
  requireKept,
} from '../changes/change-log.ts';
import type { ChangeFeed } from '../changes/feed.ts';
import type { CallContext } from '../context.ts';
import type { Repository } from '../tables/repository.ts';
import type { Table } from '../tables/table.ts';
import { lowerFirst, toEnumName } from '../tables/words.ts';
import type { Builder } from './builder-types.ts';
import { rootPage } from './connections.ts';
import { SEARCH_COST } from './cost-directives.ts';
import type { defineInputTypes } from './input-types.ts';
import { relatedRow } from './rows.ts';

// As much as a page of old changes.
const AFTER_COST = { directives: { cost: { weight: '200' } } };

/** Defines the interface of the changes of all types. */
function defineChange(builder: Builder) {
  const ChangeKind = builder.enumType('ChangeKind', {
    description: 'What can happen.',
    values: {
      CREATED: { value: 'created', description: 'It was created.' },
      UPDATED: { value: 'updated', description: 'A value of it was changed.' },
      DELETED: { value: 'deleted', description: 'It was deleted.' },
    } as const,
  });

  return builder.interfaceRef<RecordedChange>('Change').implement({
    description: 'A change: by a mutation, or by SQL of an operator. A mutation may make several.',
    resolveType: ({ type }) => `${type}Change`,
    fields: (t) => ({
      cursor: t.string({
        description: 'The position of the change in the record of all changes, for `after`.',
        extensions: { directives: { cost: { weight: '0.1' } } },
        resolve: cursorOf,
      }),
      kind: t.expose('kind', { type: ChangeKind, description: 'What happened.' }),
      changedAt: t.expose('changedAt', {
        type: 'DateTime',
        description:
          'The time of the change. Changes are in the order of their transactions, not of their times.',
      }),
    }),
  });
}

type ChangeRef = ReturnType<typeof defineChange>;

/** Defines the enum of the types that have changes. */
const defineTypes = (builder: Builder, types: readonly Repository[]) =>
  builder.enumType('ChangedType', {
    description: 'A type that has changes.',
    values: Object.fromEntries(
      types.map(({ type, words }) => [
        toEnumName(type),
        { value: type, description: `Changes of ${words.changes}.` },
      ]),
    ),
  });

type TypesRef = ReturnType<typeof defineTypes>;

/** Defines the filter of `Query.changes`. */
const defineFilter = (builder: Builder, ChangedType: TypesRef) =>
  builder.inputType('ChangeFilter', {
    description: 'Conditions for a list of changes.',
    fields: (t) => ({
      types: t.field({
        type: [ChangedType],
        description: 'Only changes of these types. An empty list matches no change.',
        extensions: SEARCH_COST,
      }),
    }),
  });

/** Defines `Query.changes`. */
function defineQuery(
  builder: Builder,
  Change: ChangeRef,
  ChangedType: TypesRef,
  types: readonly Repository[],
): void {
  const ChangeFilter = defineFilter(builder, ChangedType);
  const ChangeConnection = builder.connectionObject(
    { type: Change, name: 'ChangeConnection' },
    { name: 'ChangeEdge' },
  );

  const page = rootPage(changePagesOf(knownOf(types.map(({ type }) => type))));

  builder.queryField('changes', (t) =>
    t.connection(
      {
        type: Change,
        description:
          'The record of all changes, in the order in which their transactions began to write. It ' +
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
          const { db } = context.loaders;
          if (args.after != null) await requireKept(db, args.after, 'after');
          if (args.before != null) await requireKept(db, args.before, 'before');
          // A filter, also an empty one, leaves out the changes that only a later release knows.
          return page.resolve(root, { ...args, filter: args.filter ?? {} }, context);
        },
      },
      ChangeConnection,
    ),
  );
}

/** Follows changes in the stream of a subscription. */
function followIn(
  { changes, stream, loaders }: CallContext,
  request: Omit<Parameters<ChangeFeed['subscribe']>[0], 'loaders' | 'callerKey' | 'signal'>,
) {
  if (!stream) throw new Error('A subscription needs a stream.');
  const { callerKey, signal } = stream;
  return changes.subscribe({ ...request, loaders, callerKey, signal });
}

/** Creates the argument of each subscription. */
const afterArgument = (builder: Builder) =>
  builder.args((t) => ({
    after: t.string({
      description:
        'Begins after this cursor, with the changes since then; otherwise with the next change.',
      extensions: AFTER_COST,
    }),
  }));

/** Defines `Subscription.changed`, of the changes of all types. */
const defineChanged = (
  builder: Builder,
  Change: ChangeRef,
  ChangedType: TypesRef,
  known: readonly string[],
): void =>
  builder.subscriptionField('changed', (t) =>
    t.field({
      type: Change,
      description: 'The changes of several types, in one order.',
      args: {
        types: t.arg({
          type: [ChangedType],
          description: 'Only changes of these types; all by default. An empty list matches none.',
        }),
        ...afterArgument(builder),
      },
      subscribe: (_root, { types, after }, context) =>
        followIn(context, { types: types ?? known, filter: undefined, after }),
      resolve: (change) => change,
    }),
  );

/** Defines the type of the changes of a type. */
function defineRowChange(
  builder: Builder,
  Change: ChangeRef,
  object: OutputRef<object>,
  { type, words, fromRecorded, byId }: Repository,
) {
  return builder.objectRef<RecordedChange>(`${type}Change`).implement({
    description: `A change of ${words.one}.`,
    interfaces: [Change],
    fields: (t) => ({
      [`${lowerFirst(words.idOf)}Id`]: t.exposeID('rowId', {
        description: `The id of the ${words.idOf}.`,
      }),
      [lowerFirst(type)]: t.field({
        type: object,
        nullable: true,
        description: `The ${words.short} as it is now, or null if it no longer exists.`,
        ...relatedRow(byId, 'rowId'),
      }),
      before: t.field({
        type: object,
        nullable: true,
        description: `The ${words.short} before the change, or null if it was created.`,
        resolve: ({ before }) => before && fromRecorded(before),
      }),
      after: t.field({
        type: object,
        nullable: true,
        description: `The ${words.short} after the change, or null if it was deleted.`,
        resolve: ({ after }) => after && fromRecorded(after),
      }),
    }),
  });
}

/** Defines the interface `Change`. */
export function defineChanges(builder: Builder, { filterOf }: ReturnType<typeof defineInputTypes>) {
  const Change = defineChange(builder);
  const types: Repository[] = [];
  return {
    /** Defines the type of the changes of a type, and the subscription to them. */
    addChanges: (object: OutputRef<object>, rows: Repository): void => {
      types.push(rows);
      const { type, words } = rows;
      const about = `Conditions that ${words.one} meets before or after the change.`;
      const RowFilter = filterOf(`${type}ChangeFilter`, about, 'changes', rows);
      const RowChange = defineRowChange(builder, Change, object, rows);
      builder.subscriptionField(`${lowerFirst(words.prefix)}Changed`, (t) =>
        t.field({
          type: RowChange,
          description: `The changes of ${words.changes}.`,
          args: {
            ...(RowFilter && {
              filter: t.arg({
                type: RowFilter,
                description: `Conditions for the ${words.all}; all by default.`,
              }),
            }),
            ...afterArgument(builder),
          },
          subscribe: (_root, { filter, after }, context) => {
            const rowFilter = filter == null ? undefined : rows.toRecorded(filter);
            return followIn(context, { types: [type], filter: rowFilter, after });
          },
          resolve: (change) => change,
        }),
      );
    },
    /** Defines `Query.changes` and `Subscription.changed`, when all types are known; returns them with their tables. */
    defineChangesQuery: (): ReadonlyMap<string, Table<never>> => {
      const known = types.map(({ type }) => type);
      const ChangedType = defineTypes(builder, types);
      defineQuery(builder, Change, ChangedType, types);
      defineChanged(builder, Change, ChangedType, known);
      return new Map(types.map((rows) => [rows.type, rows]));
    },
  };
}
