// Writes the manifest of the trusted documents: `npm run manifest -- <folder> [file]`.
import { makeManifest } from './manifest.ts';

const [folder, file] = process.argv.slice(2);
const { code, message } = makeManifest(folder, file);
(code === 0 ? process.stdout : process.stderr).write(`${message}\n`);
process.exitCode = code;
