import { runGateway } from '../../../src/gateway/server/serve.ts';
import { bookshop } from './index.ts';

await runGateway(bookshop);
