import type { CallContext } from '../context.ts';
import { InvalidId } from '../contract/gateway-error.ts';
import { Id } from '../contract/parse.ts';
import type { LoaderContext } from '../tables/loaders.ts';
import type { Repository } from '../tables/repository.ts';
import type { Builder, StoreTypes } from './builder-types.ts';
import type { FieldSql } from './rows.ts';

const NODE_ID =
  'An id that no other row has, of any type: for caches, and for `node`. Do not take it apart, its form may change.';

type Load = (loaders: LoaderContext, id: bigint) => Promise<object | null>;

/** The function that loads a row of each type. */
type Loads = ReadonlyMap<string, Load>;

/** A type whose rows have global ids: https://relay.dev/graphql/objectidentification.htm */
const defineNode = <Types extends StoreTypes>(builder: Builder<Types>) =>
  builder.interfaceRef('Node').implement({
    description: 'A row of the store that `node` finds.',
    fields: (t) => ({ nodeId: t.id({ description: NODE_ID }) }),
  });

/** Returns the function that loads the row. @throws InvalidId */
function parseNodeId(loads: Loads, text: string, ...path: string[]) {
  const [typeName = '', digits, ...others] = text.split('_');
  const load = loads.get(typeName);
  const id = Id.safeParse(digits);
  if (!load || !id.success || others.length > 0) {
    throw new InvalidId([{ path, message: 'is not a nodeId of this store.' }]);
  }
  return async (loaders: LoaderContext): Promise<object | null> => {
    const row = await load(loaders, id.data);
    return row && { ...row, __typename: typeName };
  };
}

const parseNodeIds = (loads: Loads, texts: readonly string[]) =>
  texts.map((text, index) => parseNodeId(loads, text, 'nodeIds', String(index)));

function defineQueries<Types extends StoreTypes>(
  builder: Builder<Types>,
  Node: ReturnType<typeof defineNode<Types>>,
  loads: Loads,
): void {
  builder.queryFields((t) => ({
    node: t.field({
      type: Node,
      nullable: true,
      description: 'The row with this global id, or null if it does not exist.',
      args: { nodeId: t.arg.id({ required: true, description: 'The `nodeId` of the row.' }) },
      extensions: {
        directives: { cost: { weight: '100' } },
        checkArguments: (args: { nodeId: string }) =>
          void parseNodeId(loads, args.nodeId, 'nodeId'),
      },
      resolve: (_root, args, { loaders }: CallContext) =>
        parseNodeId(loads, args.nodeId, 'nodeId')(loaders),
    }),
    nodes: t.field({
      type: [Node],
      nullable: { list: false, items: true },
      description:
        'The rows with these global ids in the same order, null for each that does not exist.',
      args: {
        nodeIds: t.arg.idList({
          required: true,
          description: 'The `nodeId` of each row, as many as a page may have.',
        }),
      },
      extensions: {
        directives: {
          // A statement for each type.
          cost: { weight: '400' },
          listSize: {
            assumedSize: 100,
            slicingArguments: ['nodeIds'],
            sizedFields: [],
            requireOneSlicingArgument: false,
          },
        },
        checkArguments: (args: { nodeIds: string[] }) => void parseNodeIds(loads, args.nodeIds),
      },
      resolve: (_root, { nodeIds }, { loaders }: CallContext) =>
        Promise.all(parseNodeIds(loads, nodeIds).map((load) => load(loaders))),
    }),
  }));
}

/** Defines `Query.node` and `Query.nodes`, which find rows of any type by their global ids. */
export function defineNodes<Types extends StoreTypes>(builder: Builder<Types>) {
  const Node = defineNode(builder);
  const loads = new Map<string, Load>();
  defineQueries(builder, Node, loads);

  /** Returns the options of the field `nodeId` of a type, and lets `node` find its rows. */
  function nodeId<Row extends object>({ type, byId, id }: Repository<Row>) {
    loads.set(type, byId.load);
    const sql: FieldSql = { kind: 'nodeId', typeName: type };
    return {
      description: NODE_ID,
      extensions: { sql },
      resolve: (row: Row) => `${type}_${id.of(row)}`,
    };
  }

  return { Node, nodeId };
}
