import type { CallContext } from '../context.ts';
import { InvalidId } from '../contract/gateway-error.ts';
import { Id, MAX_LIST_SIZE } from '../contract/parse.ts';
import type { DataSource } from '../model/loaders.ts';
import type { Repository } from '../repository.ts';
import { listOf } from './cost-directives.ts';
import type { Builder } from './pothos.ts';

export const NODE_ID =
  'A globally unique id, for caches and for `node`. Treat it as opaque: its format can change.';

/** Returns the global id of a row, encoded so that clients do not parse it. */
export const toNodeId = (type: string, id: bigint | undefined): string =>
  Buffer.from(`${type}_${id}`).toString('base64url');

/** Returns the type and the id in a global id. Releases before 3.0.0 did not encode global ids. */
const splitNodeId = (text: string): string[] =>
  (text.includes('_') ? text : Buffer.from(text, 'base64url').toString()).split('_');

/**
 * Returns the function that loads the row with a global id.
 * @throws InvalidId
 */
function parseNodeId(nodes: ReadonlyMap<string, Repository>, text: string, ...path: string[]) {
  const [typeName = '', digits, ...others] = splitNodeId(text);
  const repository = nodes.get(typeName);
  const id = Id.safeParse(digits);
  if (!repository || !id.success || others.length > 0) {
    throw new InvalidId([{ path, message: 'is not a valid nodeId.' }]);
  }
  return async (source: DataSource): Promise<object | null> => {
    const row = await repository.byId.load(source, id.data);
    return row && { ...row, __typename: typeName };
  };
}

/**
 * Defines the interface of types with global ids, and `Query.node` and `Query.nodes`, which find rows of any type by these.
 * Returns the interface. https://relay.dev/graphql/objectidentification.htm
 */
export function defineNodes<Models extends object>(
  builder: Builder<Models>,
  nodes: ReadonlyMap<string, Repository>,
) {
  const Node = builder.interfaceRef<object>('Node').implement({
    description: 'An object with a globally unique id.',
    fields: (t) => ({
      id: t.id({
        description: 'The id, unique within its type.',
        extensions: { ofOtherRow: false },
        resolve: (row, _args, _context, { parentType: { name } }) =>
          nodes.get(name)?.id.of(row) ?? '',
      }),
      nodeId: t.id({
        description: NODE_ID,
        extensions: { sql: { kind: 'nodeId' } },
        resolve: (row, _args, _context, { parentType: { name } }) =>
          toNodeId(name, nodes.get(name)?.id.of(row)),
      }),
    }),
  });
  const readOne = ({ nodeId }: { nodeId: string }) => parseNodeId(nodes, nodeId, 'nodeId');
  const readAll = ({ nodeIds }: { nodeIds: readonly string[] }) =>
    nodeIds.map((text, index) => parseNodeId(nodes, text, 'nodeIds', String(index)));
  builder.queryFields((t) => ({
    node: t.field({
      type: Node,
      nullable: true,
      description: 'The object with this global id, or null if it does not exist.',
      args: { nodeId: t.arg.id({ required: true, description: 'The `nodeId` of the object.' }) },
      extensions: { read: readOne },
      resolve: (_root, args, { source }: CallContext) => readOne(args)(source),
    }),
    nodes: t.field({
      type: [Node],
      nullable: { list: false, items: true },
      description:
        'The objects with these global ids, in the order of the ids. An object that does not exist is null.',
      args: {
        nodeIds: t.arg.idList({
          required: true,
          description: 'The global ids, at most 100.',
        }),
      },
      extensions: {
        directives: {
          // One statement is needed for each type.
          cost: { weight: '400' },
          ...listOf(MAX_LIST_SIZE, ['nodeIds']).directives,
        },
        read: readAll,
      },
      resolve: (_root, args, { source }: CallContext) =>
        Promise.all(readAll(args).map((load) => load(source))),
    }),
  }));
  return Node;
}
