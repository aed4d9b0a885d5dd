import { randomBytes } from 'node:crypto';
import { expect } from 'chai';
import type { FileDoc } from '../../../lib/store/mongo/models/file.ts';
import { startS3 } from '../../files/s3-server.ts';
import { startTestApi, startTestApiWithWorker } from '../../harness/api.ts';
import {
  makeApplication,
  makeChannel,
  makeMember,
  makePerson,
  makeRole,
  makeServer,
  openDm,
  postMessage,
  setOverwrite,
} from '../../harness/factories.ts';
import { makeFolder } from '../../harness/folder.ts';
import { type Caller, send } from '../../harness/requests.ts';
import { make, use } from '../../harness/use.ts';
import {
  downloadExport,
  exportBlobs,
  exportDoc,
  exportPath,
  giveAvatar,
  jsonOf,
  makeExport,
  postFiles,
  readArchive,
} from './export-fixture.ts';

interface ExportedMessage {
  id: string;
  createdAt: string;
  content: string;
  server: { id: string; name: string } | null;
  channel: { id: string; name?: string | null; directMessageWith?: { id: string } };
  attachments: { id: string; file: string }[];
}

const viewChannel = 1;

describe('contents of an export', () => {
  const api = use(startTestApiWithWorker);
  const person = make(() => makePerson(api));
  const owner = make(() => makePerson(api));

  const read = async (who: Caller) => {
    await makeExport(api, who);
    const { body } = await downloadExport(api, who);
    return { body, files: readArchive(body) };
  };
  const messagesIn = (files: ReadonlyMap<string, Buffer>): ExportedMessage[] =>
    [...files.keys()].filter((name) => name.startsWith('messages/')).flatMap((name) => jsonOf<ExportedMessage[]>(files, name));

  it('has everything that the person wrote and uploaded, and nothing of others and no secret', async () => {
    const server = await makeServer(api, owner, 'The Library');
    await api.platform.db.servers.updateOne({ _id: server.id }, { $set: { types: [] } });
    const member = await makeMember(api, owner, server.id);
    await send(api, 200, member, 'PATCH', '/api/users/@me', { displayName: 'Ada', bio: 'I count.', pronouns: 'she' });
    await api.platform.db.accounts.updateOne({ _id: member.id }, { $set: { deletion: { at: new Date('2100-01-01'), messages: 'keep' } } });
    const role = await makeRole(api, owner, server.id, { name: 'Readers' });
    await send(api, 204, owner, 'PUT', `/api/servers/${server.id}/members/${member.id}/roles/${role.id}`);
    const own = await makeServer(api, member, 'My own');
    const hidden = await makeChannel(api, owner, server.id, { name: 'board-room' });
    const application = await makeApplication(api, member, 'Counter');
    const avatar = randomBytes(500);
    await giveAvatar(api, member, avatar);
    const dm = await openDm(api, member, owner);

    const written = [
      await postMessage(api, member, server.general, 'first words'),
      await postMessage(api, member, hidden.id, 'before it was hidden'),
      await postMessage(api, member, own.general, 'in my own server'),
      await postMessage(api, member, dm.id, 'just for the two of us'),
    ];
    const deleted = await postMessage(api, member, server.general, 'regretted words');
    await send(api, 204, member, 'DELETE', `/api/channels/${server.general}/messages/${deleted.id}`);
    const long = `${'ü'.repeat(250)}.txt`;
    const hostile = ['../../evil.sh', '..\\..\\evil.bat', 'CON', '.profile', 'a:b*c?"<>|.txt', 'same.txt', 'same.txt', long, 'end. .'];
    const contents = hostile.map((name, at) => Buffer.concat([randomBytes(100 + at), Buffer.from(name)]));
    const sent = hostile.map((name, at) => ({ name, bytes: contents[at] as Buffer }));
    const withFiles = await postFiles(api, member, server.general, 'see files', sent);
    written.push(withFiles);
    await postFiles(api, owner, server.general, 'words of somebody else', [{ name: 'theirs.txt', bytes: 'a file of somebody else' }]);
    await postMessage(api, owner, dm.id, 'an answer of somebody else');
    await send(api, 204, member, 'PUT', `/api/channels/${server.general}/read`, { messageId: withFiles.id });
    await setOverwrite(api, owner, hidden.id, server.id, 0, viewChannel);

    const { body, files } = await read(member);
    const exported = messagesIn(files);
    expect(exported.map(({ id, content }) => [id, content])).to.deep.equal(written.map(({ id, content }) => [id, content]));
    const places = exported.map(({ server: at, channel }) => [at?.name, channel.name ?? null, channel.directMessageWith?.id ?? null]);
    expect(places).to.deep.equal([
      ['The Library', server.channels[0]?.name, null],
      ['The Library', null, null], // its name may be a secret by now
      ['My own', own.channels[0]?.name, null],
      [undefined, null, owner.id],
      ['The Library', server.channels[0]?.name, null],
    ]);

    const attachments = exported.at(-1)?.attachments ?? [];
    expect(attachments.map(({ file }) => files.get(file))).to.deep.equal(contents);
    const names = [...files.keys()];
    expect(new Set(names.map((name) => name.toLowerCase())).size).to.equal(names.length);
    for (const name of names) {
      expect(name).to.match(/^(?:(?:files|messages)\/)?[^/\\:*?"<>|\p{Cc}\p{Cf}]+$/u);
      expect(name).to.not.match(/(?:^|\/)\.|[. ]$/);
      expect(Buffer.byteLength(name)).to.be.lessThan(220);
    }
    const monthly = [...new Set(exported.map(({ createdAt }) => `messages/${createdAt.slice(0, 7)}.json`))];
    const fixed = ['README.txt', 'account.json', 'servers.json', 'direct-messages.json', 'reads.json', 'summary.json'];
    expect(names.filter((name) => !name.startsWith('files/'))).to.have.members([...fixed, ...monthly]);
    expect(jsonOf(files, 'summary.json')).to.deep.include({ messages: 5, files: 10, missingFiles: 0, filesLeftOut: 0 });
    const account = jsonOf<{ applications: object[]; sessions: object[] }>(files, 'account.json');
    expect(account).to.deep.include({
      id: member.id,
      username: member.username,
      displayName: 'Ada',
      bio: 'I count.',
      pronouns: 'she',
      avatar: 'files/avatar.webp',
      linkedAccount: null,
      deletion: { deletesAt: '2100-01-01T00:00:00.000Z', messages: 'keep' },
    });
    expect(account.sessions).to.have.length(1);
    expect(account.applications).to.have.length(1);
    expect(account.applications[0]).to.deep.include({ id: application.applicationId, name: 'Counter', icon: null });
    expect(files.get('files/avatar.webp')).to.deep.equal(avatar);
    const servers = jsonOf<{ id: string; roles: object[] }[]>(files, 'servers.json');
    expect(servers.map(({ id }) => id)).to.deep.equal([server.id, own.id]);
    expect(servers[0]?.roles).to.deep.equal([{ id: role.id, name: 'Readers' }]);
    expect(jsonOf<{ with: object }[]>(files, 'direct-messages.json').map((one) => one.with)).to.deep.equal([
      { id: owner.id, username: owner.username, displayName: owner.username },
    ]);
    expect(jsonOf(files, 'reads.json')).to.deep.include({ channelId: server.general, lastReadMessageId: withFiles.id });

    const { db } = api.platform;
    const accounts = await db.accounts.find({}).toArray();
    const tokens = await db.tokens.find({}).toArray();
    const keys = (await db.files.find({}).toArray()).map(({ key }: FileDoc) => key);
    const signing = (await db.applications.find({}).toArray()).map(({ signingSecret }) => signingSecret);
    const given = [member.token, application.token, application.signingSecret, owner.token];
    const secrets = given.flatMap((token) => [token, token.split('.').at(-1) as string]);
    const foreign = ['somebody else', 'theirs.txt', 'regretted words', 'board-room'];
    const stored = [...accounts.flatMap(({ passwordHash }) => passwordHash ?? []), ...tokens.map(({ hash }) => hash), ...keys, ...signing];
    const all = Buffer.concat([body, ...names.map((name) => Buffer.from(name)), ...files.values()]).toString('latin1');
    expect(all).to.include('first words');
    expect([...secrets, ...foreign, ...stored].filter((text) => all.includes(text))).to.deep.equal([]);
  });

  it('of a new account has empty lists', async () => {
    const { files } = await read(person);
    const lists = ['servers.json', 'direct-messages.json', 'reads.json'];
    expect(lists.map((name) => jsonOf(files, name))).to.deep.equal([[], [], []]);
    expect(messagesIn(files)).to.deep.equal([]);
  });

  it('has all messages of several pages in their order, in a file for each month', async () => {
    const writer = await makePerson(api);
    const server = await makeServer(api, writer);
    const { db, ids } = api.platform;
    const template = await db.messages.findOne({ _id: (await postMessage(api, writer, server.general)).id });
    const { outbox: _, outboxAt: __, ...plain } = template ?? expect.fail();
    const docs = Array.from({ length: 450 }, (_unused, at) => ({
      ...plain,
      _id: ids.next(),
      content: `message ${at}`,
      createdAt: new Date(Date.UTC(2031, at < 300 ? 0 : 1, 1, 0, 0, at)),
    }));
    await db.messages.insertMany(docs);
    const { files } = await read(writer);
    const inJanuary = jsonOf<ExportedMessage[]>(files, 'messages/2031-01.json');
    const inFebruary = jsonOf<ExportedMessage[]>(files, 'messages/2031-02.json');
    expect(inJanuary).to.have.length(300);
    expect([...inJanuary, ...inFebruary].map(({ content }) => content)).to.deep.equal(docs.map(({ content }) => content));
  });

  it('goes on without a file whose bytes are gone, and says so', async () => {
    const writer = await makePerson(api);
    const server = await makeServer(api, writer);
    const posted = await postFiles(api, writer, server.general, '', [
      { name: 'lost.txt', bytes: 'lost' },
      { name: 'kept.txt', bytes: 'kept' },
    ]);
    const lost = await api.platform.db.files.findOne({ _id: posted.attachments[0]?.id as string });
    await api.platform.blobs.delete(lost?.blob ?? '');
    const { files } = await read(writer);
    expect(jsonOf(files, 'summary.json')).to.deep.include({ files: 1, missingFiles: 1 });
    expect(String(files.get(`files/${posted.attachments[1]?.id}-kept.txt`))).to.equal('kept');
  });
});

describe('an export of several parts', () => {
  const folder = use(makeFolder);
  const s3 = use(() => startS3(folder.path));
  const bytes = Array.from({ length: 2 }, () => randomBytes(9 * 1024 * 1024));

  for (const [where, settings] of [
    ['in a folder', () => ({})],
    ['on S3', () => s3.settings],
  ] as const)
    describe(where, () => {
      const api = use(() => startTestApiWithWorker(() => startTestApi(settings())));
      it('is downloaded whole, and all parts are deleted with it', async () => {
        const person = await makePerson(api);
        const server = await makeServer(api, person);
        const sent = bytes.map((each, at) => ({ name: `${at}.bin`, bytes: each }));
        const posted = await postFiles(api, person, server.general, '', sent);
        const made = await makeExport(api, person);
        const { key = '', parts } = (await exportDoc(api, person)) ?? {};
        expect(parts).to.deep.equal([2]);
        const { body, headers } = await downloadExport(api, person);
        expect([made.bytes, Number(headers.get('Content-Length'))]).to.deep.equal([body.length, body.length]);
        const files = readArchive(body);
        expect(posted.attachments.map(({ id, filename }) => files.get(`files/${id}-${filename}`))).to.deep.equal(bytes);
        if (where === 'in a folder') expect(await exportBlobs(api)).to.deep.equal([`${key}-1-1`, `${key}-1-2`]);
        await send(api, 204, person, 'DELETE', exportPath);
        for (const part of [1, 2]) expect(await api.platform.blobs.open(`${key}-1-${part}`)).to.equal(null);
      });
    });
});
