// These tests cover documents that change while a backup reads them: each begins with what was read.
import { expect } from 'chai';
import type { CollectionName } from '../../lib/domain/backup/contents.ts';
import { type AnyDoc, readPages } from '../../lib/domain/backup/pages.ts';
import { storeDocuments } from '../../lib/domain/backup/restored-documents.ts';
import type { Collections } from '../../lib/store/mongo/database.ts';
import { toMembership } from '../../lib/store/mongo/memberships.ts';
import { startTestApi } from '../harness/api.ts';
import { use } from '../harness/use.ts';

/** The documents of a collection in the pages that are read for `name`. */
async function readDocs(db: Collections, name: CollectionName, collection: CollectionName = name): Promise<AnyDoc[]> {
  const docs: AnyDoc[] = [];
  for await (const page of readPages(db, name)) if (page.name === collection) docs.push(...page.docs);
  return docs;
}

/** The collections that these tests use. */
const used = [
  'reads',
  'messages',
  'reactions',
  'members',
  'memberships',
  'webhooks',
  'dms',
  'accounts',
  'files',
  'removals',
  'servers',
] as const satisfies CollectionName[];

const insert = (db: Collections, name: CollectionName, docs: AnyDoc[]): Promise<unknown> => db[name].insertMany(docs as never[]);

describe('documents of a backup', () => {
  const api = use(() => startTestApi());
  beforeEach(() => Promise.all(used.map((name) => api.platform.db[name].deleteMany({}))));

  it('pages have each document once, in the order of ids, also large ones and more than a page', async () => {
    const { db } = api.platform;
    const text = (n: number): string => 'x'.repeat(n % 400 === 0 ? 3_000_000 : 10);
    const docs = Array.from({ length: 1_203 }, (_, n) => ({ _id: String(1_000_000 + n), text: text(n) }));
    await insert(db, 'reads', docs);
    expect((await readDocs(db, 'reads')).map(({ _id }) => _id)).to.deep.equal(docs.map(({ _id }) => _id));
  });

  describe('a message and its reactions', () => {
    const reaction = (userId: string, more: object = {}): AnyDoc => ({
      _id: `5:${userId}:👍`,
      messageId: '5',
      channelId: '1',
      userId,
      identity: '👍',
      at: new Date(0),
      ...more,
    });
    const [pending, outbox] = [{ eventId: 'e' }, [{ id: 'e' }]];
    const counted = (count: number): object => ({ reactions: [{ identity: '👍', emoji: '👍', count }], reactionCount: count });
    const cases: [what: string, message: object, found: AnyDoc[], count: number, kept: AnyDoc[]][] = [
      ['a reaction that was added later', counted(1), [reaction('1'), reaction('2')], 2, [reaction('1'), reaction('2')]],
      ['a reaction that was removed later', counted(2), [reaction('1')], 1, [reaction('1')]],
      ['the only reaction, removed later', counted(1), [], 0, []],
      ['the first reaction, added later', {}, [reaction('1')], 0, []],
      ['an addition that begins later', counted(1), [reaction('1'), reaction('2', pending)], 1, [reaction('1')]],
      ['a removal that begins later', counted(1), [reaction('1', { ...pending, removingAt: new Date(1) })], 1, [reaction('1')]],
      ['an addition in effect whose event is pending', { ...counted(1), outbox }, [reaction('1', pending)], 1, [reaction('1', pending)]],
    ];
    for (const [what, message, found, count, kept] of cases)
      it(`agree after ${what}`, async () => {
        const { db } = api.platform;
        await insert(db, 'messages', [{ _id: '5', channelId: '1', ...message }]);
        if (found.length) await insert(db, 'reactions', found);
        const [read] = await readDocs(db, 'messages');
        const counts = ((read?.reactions ?? []) as { count: number }[]).map((one) => one.count);
        expect([read?.reactionCount ?? 0, counts]).to.deep.equal([count, count ? [count] : []]);
        expect(await readDocs(db, 'messages', 'reactions')).to.deep.equal(kept);
      });
  });

  it('a member that leaves meanwhile is left out, and one that stays has its membership', async () => {
    const { db } = api.platform;
    const member = (userId: string) => ({ _id: `1:${userId}`, serverId: '1', userId, bot: false, joinedAt: new Date(0) });
    await insert(db, 'members', [member('7'), member('8'), member('9')]);
    await insert(db, 'memberships', [toMembership(member('7')) as never, toMembership(member('8')) as never]);
    const leave = async (): Promise<void> => {
      await db.members.deleteOne({ _id: '1:7' });
      await db.memberships.deleteOne({ userId: '7' });
    };
    const memberships = { find: (filter: object) => ({ toArray: () => leave().then(() => db.memberships.find(filter).toArray()) }) };
    const racing = { ...db, memberships } as unknown as Collections;
    expect((await readDocs(racing, 'members')).map(({ userId }) => userId)).to.deep.equal(['8', '9']);
    expect((await readDocs(racing, 'members', 'memberships')).map(({ userId }) => userId)).to.deep.equal(['8', '9']);
  });

  describe('restored', () => {
    const store = async (name: CollectionName, docs: AnyDoc[], before: AnyDoc[] = []) => {
      const { db } = api.platform;
      if (before.length) await insert(db, 'members', before);
      const refused = await storeDocuments({ db, fromUrl: 'http://old', toUrl: 'https://new', now: new Date(5) }, name, docs);
      const { [before.length ? 'members' : name]: stored } = db;
      const found = (await stored
        .find({} as never)
        .sort({ _id: 1 })
        .toArray()) as unknown as AnyDoc[];
      await stored.deleteMany({});
      return { refused, stored: found };
    };

    it('a slot that changed hands is given to one document, and the other one gets the next one', async () => {
      const webhook = (_id: string, slot: number): AnyDoc => ({ _id, channelId: '1', serverId: '1', slot, tokenHash: _id });
      const { refused, stored } = await store('webhooks', [webhook('1', 0), webhook('2', 0), webhook('3', 1)]);
      expect(refused).to.deep.equal([]);
      expect(stored.map(({ _id, slot }) => [_id, slot])).to.have.deep.members([
        ['1', 0],
        ['2', 2],
        ['3', 1],
      ]);
    });

    it('a unique value that changed hands stays with one document, and the other one is named', async () => {
      const dm = (_id: string): AnyDoc => ({ _id, pair: '7:8', userIds: ['7', '8'] });
      expect(await store('dms', [dm('1'), dm('2')])).to.deep.include({ refused: ['2'] });
    });

    it('a username that changed hands belongs to the later account, because the other one is being deleted', async () => {
      const account = (_id: string): AnyDoc => ({ _id, kind: 'person', username: 'same', passwordHash: 'x' });
      const { refused, stored } = await store('accounts', [account('1'), account('2')]);
      expect(refused).to.deep.equal([]);
      expect(stored).to.deep.equal([{ ...account('1'), username: 'deleted 1', passwordHash: null }, account('2')]);
    });

    it('an identity that moved to another account belongs to the one that was linked last', async () => {
      const bare = (_id: string): AnyDoc => ({ _id, kind: 'person', username: `name${_id}`, passwordHash: 'x' });
      const identity = { issuer: 'https://sso.example.org', subject: 'same' };
      const account = (_id: string, day: number): AnyDoc => ({ ...bare(_id), identity: { ...identity, linkedAt: new Date(day) } });
      for (const [first, second, wanted] of [
        [account('1', 1), account('2', 2), [bare('1'), account('2', 2)]],
        [account('1', 2), account('2', 1), [account('1', 2), bare('2')]],
      ] as const) {
        const { refused, stored } = await store('accounts', [first, second]);
        expect(refused).to.deep.equal([]);
        expect(stored).to.deep.equal(wanted);
      }
    });

    it('documents that are stored already stay as they are', async () => {
      const { stored, refused } = await store('reads', [
        { _id: '1', n: 1 },
        { _id: '1', n: 2 },
      ]);
      expect([stored, refused]).to.deep.equal([[{ _id: '1', n: 1 }], []]);
    });

    it('a file that was being deleted is undecided, a removal is due, counts are due, and pictures have the new address', async () => {
      const now = new Date(5);
      const file = { _id: '1', key: 'k', blob: 'b', state: 'freed', openAt: new Date(0) };
      expect((await store('files', [file])).stored).to.deep.equal([{ ...file, state: 'stored', openAt: now }]);
      const removal = { _id: '1', kind: 'channel', at: new Date(0), nextAt: new Date(0) };
      expect((await store('removals', [{ ...removal, done: true }])).stored).to.deep.equal([{ ...removal, nextAt: now }]);
      const server = { _id: '1', ownerId: '2', iconUrl: 'http://old/files/1' };
      expect((await store('servers', [server])).stored).to.deep.equal([{ ...server, iconUrl: 'https://new/files/1', recountAt: now }]);
    });

    it('a member whose departure is pending in the outbox of the server is gone', async () => {
      const joinedAt = new Date(1);
      const member = (userId: string): AnyDoc => ({ _id: `1:${userId}`, serverId: '1', userId, joinedAt });
      const outbox = [{ id: 'e', name: 'MEMBER_REMOVE', data: { userId: '7', joinedAt } }];
      const { stored } = await store('servers', [{ _id: '1', ownerId: '2', outbox }], [member('7'), member('8')]);
      expect(stored.map(({ userId }) => userId)).to.deep.equal(['8']);
    });
  });
});
