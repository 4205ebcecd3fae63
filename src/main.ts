#!/usr/bin/env -S node --max-semi-space-size=16
import { runGateway } from './gateway/server/serve.ts';
import { petStore } from './store/index.ts';

await runGateway(petStore);
