// Preloaded into a program, this makes writes to PGlite's write-ahead log fail, as on a broken disk, while the file
// that WAL_FAULT names exists. The file contains the error's code.
import fs from 'node:fs';

const { existsSync, openSync, readFileSync, writeSync } = fs;
// oxlint-disable-next-line no-process-env -- a preload has nothing else to read
const fault = process.env.WAL_FAULT;
const wal = new Set();

fs.openSync = (path, ...rest) => {
  const fd = openSync(path, ...rest);
  if (/[/\\]pg_wal[/\\]/.test(path)) wal.add(fd);
  else wal.delete(fd);
  return fd;
};
fs.writeSync = (fd, ...rest) => {
  if (wal.has(fd) && existsSync(fault)) {
    const code = readFileSync(fault, 'utf8');
    throw Object.assign(new Error(`${code}: write`), { code });
  }
  return writeSync(fd, ...rest);
};
