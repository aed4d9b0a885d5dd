import Router from '@koa/router';
import { Redis } from 'ioredis';
import Koa from 'koa';
import { koaBody } from 'koa-body';
import mongoose from 'mongoose';
import { createIds } from '../../../lib/base/ids.ts';
import { plainMessage } from '../../harness/plain-message.ts';

// The minimum work for a post: parse it, store it as durably as Parlance does, publish it.
const ids = createIds(() => 1, Date.now);
const connection = await mongoose
  .createConnection(String(process.env.MONGODB_URL), {
    retryWrites: false,
    maxPoolSize: 32,
    writeConcern: { w: 'majority', journal: true },
  })
  .asPromise();
const messages = connection.collection<{ _id: string }>('bare');
await messages.createIndex({ channelId: 1, _id: 1 });
const redis = new Redis(String(process.env.REDIS_URL));
const router = new Router();
router.post('/api/channels/:channelId/messages', koaBody({ json: true }), async (ctx) => {
  const { content } = (ctx.request as unknown as { body: { content: string } }).body;
  const { channelId } = ctx.params;
  const document = {
    _id: ids.next(),
    channelId,
    serverId: channelId,
    authorId: channelId,
    content,
    ...plainMessage,
    createdAt: new Date(),
  };
  await messages.insertOne(document);
  const text = JSON.stringify(document);
  await redis.publish('bare', text);
  ctx.status = 201;
  ctx.type = 'application/json';
  ctx.body = text;
});
new Koa().use(router.routes()).listen(Number(process.env.PORT), '127.0.0.1', () => process.send?.('ready'));
