import { runGateway } from '../../../src/gateway/server/run-gateway.ts';
import { bookshop } from './index.ts';

await runGateway(bookshop);
