// PostGraphile 5 with its Amber preset, served with Node's own server as its documentation shows.
import { createServer } from 'node:http';

import { postgraphile } from 'postgraphile';
import { makePgService } from 'postgraphile/adaptors/pg';
import { grafserv } from 'postgraphile/grafserv/node';
import { PostGraphileAmberPreset } from 'postgraphile/presets/amber';
import { pgSmartTags } from 'postgraphile/utils';

const { DATABASE_URL: connectionString, PORT } = process.env;

// Leaves out the change log: PostGraphile would give its columns id and row_id the same name, rowId.
const withoutChanges = pgSmartTags(
  ['changes', 'settled_changes'].map((identifier) => ({
    kind: 'class',
    match: identifier,
    tags: { behavior: '-*' },
  })),
);

const instance = postgraphile({
  extends: [PostGraphileAmberPreset],
  plugins: [withoutChanges],
  pgServices: [makePgService({ connectionString, schemas: ['public'], poolConfig: { max: 10 } })],
  grafserv: { graphqlPath: '/graphql', graphiql: false, websockets: false, watch: false },
  grafast: { explain: false },
});
const server = createServer();
await instance.createServ(grafserv).addTo(server);
server.listen(Number(PORT), '127.0.0.1');
