// Loaded with --import: makes each copy of a folder fail after its first files, as if the next one could not be read.
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';

fs.cpSync = (_from, to) => {
  fs.writeFileSync(join(to, 'PG_VERSION'), '18\n');
  throw Object.assign(new Error('EACCES: permission denied, copyfile'), { code: 'EACCES' });
};
syncBuiltinESMExports();
