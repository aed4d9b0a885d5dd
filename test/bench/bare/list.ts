import Router from '@koa/router';
import Koa from 'koa';
import mongoose from 'mongoose';

// The minimum work for a list of messages: find them, and send them as JSON.
const connection = await mongoose.createConnection(String(process.env.MONGODB_URL), { retryWrites: false, maxPoolSize: 32 }).asPromise();
const messages = connection.collection(String(process.env.COLLECTION));
const router = new Router();
router.get('/api/channels/:channelId/messages', async (ctx) => {
  const filter = { channelId: ctx.params.channelId, _id: { $lt: ctx.query.before } };
  const found = await messages
    .find(filter as never)
    .sort({ _id: -1 })
    .limit(50)
    .toArray();
  ctx.type = 'application/json';
  ctx.body = JSON.stringify(found);
});
new Koa().use(router.routes()).listen(Number(process.env.PORT), '127.0.0.1', () => process.send?.('ready'));
