import Router from '@koa/router';
import Koa from 'koa';
import { koaBody } from 'koa-body';
import mongoose from 'mongoose';
import { createIds } from '../../../lib/base/ids.ts';

// The minimum work for a code host's delivery: parse it, and store what will be posted as durably as Parlance does.
const ids = createIds(() => 1, Date.now);
const connection = await mongoose
  .createConnection(String(process.env.MONGODB_URL), {
    retryWrites: false,
    maxPoolSize: 32,
    writeConcern: { w: 'majority', journal: true },
  })
  .asPromise();
const deliveries = connection.collection<{ _id: string }>('bare');
await deliveries.createIndex({ webhookId: 1, _id: 1 });
const router = new Router();
router.post('/api/webhooks/:id/:token/codehost', koaBody({ json: true, jsonLimit: '5mb' }), async (ctx) => {
  const { ref, commits } = (ctx.request as unknown as { body: { ref: string; commits: object[] } }).body;
  const document = { _id: ids.next(), webhookId: ctx.params.id, ref, commits: commits.slice(0, 5), at: new Date() };
  await deliveries.insertOne(document);
  ctx.status = 202;
  ctx.body = { accepted: true };
});
new Koa().use(router.routes()).listen(Number(process.env.PORT), '127.0.0.1', () => process.send?.('ready'));
