import type { OutputRef } from '@pothos/core';

import type { Selection } from '../changes/catch-up.ts';
import {
  type Change as RecordedChange,
  changePagesOf,
  cursorOf,
  parseCursor,
  requireKept,
  supportedChanges,
} from '../changes/change-log.ts';
import { AFTER_COST } from '../changes/streams.ts';
import { type CallContext, streamOf } from '../context.ts';
import { SEARCH_COST } from '../list/conditions.ts';
import type { ListArguments, PageArguments } from '../list/listing.ts';
import { lowerFirst, toEnumName, toFieldName } from '../model/words.ts';
import type { Repository } from '../repository.ts';
import type { Builder } from './builder-types.ts';
import { rootPage } from './connections.ts';
import type { defineInputTypes } from './input-types.ts';
import { relatedRow } from './rows.ts';

// The size of a change's cursor if its transaction and its id both have 19 digits, and its time has 13 (until 2286).
const CHANGE_CURSOR_BYTES = 96;

function defineChange(builder: Builder) {
  const ChangeKind = builder.enumType('ChangeKind', {
    description: 'The kind of change.',
    values: {
      CREATED: { value: 'created', description: 'The object was created.' },
      UPDATED: { value: 'updated', description: 'At least one field changed.' },
      DELETED: { value: 'deleted', description: 'The object was deleted.' },
    } as const,
  });

  return builder.interfaceRef<RecordedChange>('Change').implement({
    description:
      'A change made by a mutation, or by an operator with SQL. One mutation may make several ' +
      'changes.',
    resolveType: ({ type }) => `${type}Change`,
    fields: (t) => ({
      cursor: t.string({
        description: 'The position of the change in the change log, to pass as `after`.',
        extensions: { directives: { cost: { weight: '0.1' } }, maxBytes: CHANGE_CURSOR_BYTES },
        resolve: cursorOf,
      }),
      kind: t.expose('kind', { type: ChangeKind, description: 'The kind of change.' }),
      changedAt: t.expose('changedAt', {
        type: 'DateTime',
        description:
          'The time of the change. The change log is in the order in which transactions started to ' +
          'write, so its times are not always ascending.',
      }),
    }),
  });
}

type ChangeRef = ReturnType<typeof defineChange>;

const defineTypes = (builder: Builder, types: readonly Repository[]) =>
  builder.enumType('ChangedType', {
    description: 'The type of an object whose changes are recorded.',
    values: Object.fromEntries(
      types.map(({ type, words }) => [
        toEnumName(type),
        { value: type, description: `Changes to ${words.changes}.` },
      ]),
    ),
  });

type TypesRef = ReturnType<typeof defineTypes>;

const defineFilter = (builder: Builder, ChangedType: TypesRef) =>
  builder.inputType('ChangeFilter', {
    description: 'Conditions for a list of changes.',
    fields: (t) => ({
      types: t.field({
        type: [ChangedType],
        description: 'Only changes to objects of these types. An empty list matches nothing.',
        extensions: { directives: { cost: { weight: SEARCH_COST } } },
      }),
    }),
  });

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

  const page = rootPage(changePagesOf(supportedChanges(types.map(({ type }) => type))));

  builder.queryField('changes', (t) =>
    t.connection(
      {
        type: Change,
        description:
          'The change log, in the order in which transactions started to write. Changes are kept ' +
          'for a day, unless the operator has configured another period. A change becomes visible ' +
          'once no open transaction can add an earlier change. To follow the log, repeat the ' +
          'query, and pass the last non-null `endCursor` as `after`.',
        args: {
          filter: t.arg({
            type: ChangeFilter,
            description: 'Only changes that meet these conditions.',
          }),
        },
        extensions: {
          // Operations that select changes are not compiled to one statement, so all of their fields take longer.
          directives: { ...page.extensions.directives, cost: { weight: '150' } },
          checkArguments: (args: PageArguments) => {
            if (args.after != null) parseCursor(args.after, 'after');
            if (args.before != null) parseCursor(args.before, 'before');
            page.extensions.checkArguments(args);
          },
        },
        resolve: async (root, args, context) => {
          const { db } = context.source;
          if (args.before != null) await requireKept(db, args.before, 'before');
          // A filter, even if it is empty, excludes types and kinds that only a later release supports.
          const filter = args.filter ?? {};
          const result = await page.resolve(root, { ...args, filter }, context);
          if (args.after != null) await requireKept(db, args.after, 'after');
          return result;
        },
      },
      ChangeConnection,
    ),
  );
}

function followIn(
  context: CallContext,
  selection: Omit<Selection, 'source'>,
  { after }: Pick<PageArguments, 'after'>,
) {
  const { changes, source } = context;
  const stream = streamOf(context);
  const { lastEventId } = stream;
  if (lastEventId !== undefined) parseCursor(lastEventId, 'Last-Event-ID');
  return changes.follow(stream, { ...selection, source }, lastEventId ?? after);
}

/** @throws InvalidCursor */
const checkAfter = ({ after }: Pick<PageArguments, 'after'>): void => {
  if (after != null) parseCursor(after, 'after');
};

const afterArgument = (builder: Builder) =>
  builder.args((t) => ({
    after: t.string({
      description:
        'The cursor after which to resume. If omitted, the stream starts with the next change.',
      extensions: { directives: { cost: { weight: String(AFTER_COST) } } },
    }),
  }));

/** Defines `Subscription.changed`, which follows the changes to objects of all types. */
const defineChanged = (
  builder: Builder,
  Change: ChangeRef,
  ChangedType: TypesRef,
  known: readonly string[],
): void =>
  builder.subscriptionField('changed', (t) =>
    t.field({
      type: Change,
      description: 'Changes to objects of several types, in one stream.',
      args: {
        types: t.arg({
          type: [ChangedType],
          description:
            'Only changes to objects of these types; all types by default. An empty list matches ' +
            'nothing.',
        }),
        ...afterArgument(builder),
      },
      extensions: { checkArguments: checkAfter },
      subscribe: (_root, args, context) =>
        followIn(context, { types: args.types ?? known, filter: undefined }, args),
      resolve: (change) => change,
    }),
  );

function defineRowChange(
  builder: Builder,
  Change: ChangeRef,
  object: OutputRef<object>,
  { type, words, fromRecorded, byId }: Repository,
) {
  return builder.objectRef<RecordedChange>(`${type}Change`).implement({
    description: `A change to ${words.one}.`,
    interfaces: [Change],
    fields: (t) => ({
      [`${toFieldName(words.idOf)}Id`]: t.exposeID('rowId', {
        description: `The id of the ${words.idOf}.`,
      }),
      [lowerFirst(type)]: t.field({
        type: object,
        nullable: true,
        description: `The current state of the ${words.short}, or null if it no longer exists.`,
        ...relatedRow(byId, 'rowId'),
      }),
      before: t.field({
        type: object,
        nullable: true,
        description: `The ${words.short} before the change, or null if the change created it.`,
        resolve: ({ before }) => before && fromRecorded(before),
      }),
      after: t.field({
        type: object,
        nullable: true,
        description: `The ${words.short} after the change, or null if the change deleted it.`,
        resolve: ({ after }) => after && fromRecorded(after),
      }),
    }),
  });
}

/** Defines the interface `Change`; returns functions that define the types, fields and subscriptions based on it. */
export function defineChanges(builder: Builder, { filterOf }: ReturnType<typeof defineInputTypes>) {
  const Change = defineChange(builder);
  const types: Repository[] = [];
  return {
    /** Defines the type of a table's changes, and the subscription to them. */
    addChanges: (object: OutputRef<object>, rows: Repository): void => {
      types.push(rows);
      const { type, words } = rows;
      const about = `Conditions for changes to ${words.one}. The ${words.short} must meet all of them before the change, or all of them after it.`;
      const RowFilter = filterOf(`${type}ChangeFilter`, about, 'changes', rows);
      const RowChange = defineRowChange(builder, Change, object, rows);
      builder.subscriptionField(`${lowerFirst(words.prefix)}Changed`, (t) =>
        t.field({
          type: RowChange,
          description: `Changes to ${words.changes}.`,
          args: {
            ...(RowFilter && {
              filter: t.arg({
                type: RowFilter,
                description: `Only changes to ${words.all} that meet these conditions.`,
              }),
            }),
            ...afterArgument(builder),
          },
          extensions: {
            checkArguments: (args: ListArguments) => {
              checkAfter(args);
              if (args.filter != null) rows.toRecorded(args.filter);
            },
          },
          subscribe: (_root, args, context) => {
            const filter = args.filter == null ? undefined : rows.toRecorded(args.filter);
            return followIn(context, { types: [type], filter }, args);
          },
          resolve: (change) => change,
        }),
      );
    },
    /**
     * Defines `Query.changes` and `Subscription.changed` once all types are defined. Returns the types with their
     * rows.
     */
    defineChangesQuery: (): ReadonlyMap<string, Repository> => {
      const known = types.map(({ type }) => type);
      const ChangedType = defineTypes(builder, types);
      defineQuery(builder, Change, ChangedType, types);
      defineChanged(builder, Change, ChangedType, known);
      return new Map(types.map((rows) => [rows.type, rows]));
    },
  };
}
